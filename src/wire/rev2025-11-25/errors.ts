import type { RpcErrorObject } from '../../core/index.ts';
import { invalidParams } from '../errors.ts';

const METHOD_NOT_FOUND = -32601;

/** Of a method, or of a tool that cannot be called the way it was. @see 2025-11-25 tasks, "Tool-Level Negotiation" */
export function methodNotFound(message: string): RpcErrorObject {
  return { code: METHOD_NOT_FOUND, message };
}

/**
 * A task that is over cannot be cancelled.
 * @param status as this revision has it
 * @see 2025-11-25 tasks, "Task Cancellation"
 */
export function notCancellable(status: string): RpcErrorObject {
  return invalidParams(`Cannot cancel task: it is already ${status}`);
}
