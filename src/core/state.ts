import type { JsonObject, JsonValue } from './json.ts';
import type { InputRequests } from './question.ts';

/** A JSON-RPC error object, as the request would have been answered with. */
export interface RpcErrorObject {
  code: number;
  message: string;
  data?: JsonValue;
}

export type OpenState = { status: 'working' } | { status: 'input_required'; inputRequests: InputRequests };

/**
 * How a task ended. `completed` holds the tool's result as it was, also one with `isError: true`; `failed` holds the
 * JSON-RPC error. Each revision derives its own status from these.
 */
export type TerminalState =
  | { status: 'completed'; result: JsonObject }
  | { status: 'failed'; error: RpcErrorObject }
  | { status: 'cancelled'; reason?: string };

export type TaskState = OpenState | TerminalState;
export type TaskStatus = TaskState['status'];

export const TASK_STATUSES = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const;

export function isTerminal(state: TaskState): state is TerminalState {
  return isTerminalStatus(state.status);
}

export function isTerminalStatus(status: TaskStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
