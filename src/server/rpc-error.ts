import {
  encodeJson,
  errorKind,
  type JsonValue,
  type RpcErrorObject,
  TaskError,
  type TaskErrorCode,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { encodeError, internalError } from '../wire/errors.ts';
import { UnidentifiedCallerError } from './principal.ts';
import { troubleLogOf } from './trouble-log.ts';

/** The peer's doing, and no fault of this side: the operator's business only where the limit is too low, or the peer hostile. */
const LIMITS = new Set<TaskErrorCode>(['RATE_LIMITED', 'LIMIT_EXCEEDED']);

/** An error as the SDK wants it thrown: it turns any object with an integer `code` into that JSON-RPC error. */
export function asThrown(error: RpcErrorObject): Error {
  return Object.assign(new Error(error.message), error);
}

/** The JSON-RPC error that somebody chose to throw: one with an integer `code`. */
export function chosenError(error: unknown): RpcErrorObject | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
  if (!Number.isSafeInteger(code) || typeof message !== 'string') return undefined;
  return { code: code as number, message, ...jsonData(data) };
}

/**
 * What the peer is told about `error`. Errors nobody chose to show stay with the operator: their messages name paths,
 * statements and worse.
 * @param where the method or tool, for the log: never a text of the peer's, which could be anything
 */
export function answerTo(error: unknown, where: string, tasks: Tasks): RpcErrorObject {
  const log = troubleLogOf(tasks);
  const fault = (): void =>
    log.note('error', { where, kind: errorKind(error) }, { error }, 'a request could not be served');
  if (error instanceof TaskError) {
    const answer = encodeError(error);
    if (LIMITS.has(error.code))
      log.note('warn', { where, kind: error.code }, {}, 'requests are refused: a limit is reached');
    else if (answer.code === internalError.code) fault();
    return answer;
  }
  const chosen = chosenError(error);
  if (chosen !== undefined) return chosen;
  fault();
  // The one of ours that says what is missing, and nothing else.
  return error instanceof UnidentifiedCallerError ? { ...internalError, message: error.message } : internalError;
}

function jsonData(data: unknown): { data?: JsonValue } {
  if (data === undefined) return {};
  try {
    return { data: JSON.parse(encodeJson(data, 'data')) as JsonValue };
  } catch {
    return {}; // What is not JSON cannot be sent; code and message still are.
  }
}
