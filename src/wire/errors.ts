import { RateLimitedError, type RpcErrorObject, type TaskError, type TaskErrorCode } from '../core/index.ts';

const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** A new code fails to compile until it is answered here. The revisions differ only in errors of their own. */
const codes = {
  TASK_NOT_FOUND: INVALID_PARAMS,
  ANSWER_INVALID: INVALID_PARAMS,
  INPUT_NOT_SUPPORTED: INTERNAL_ERROR,
  IDEMPOTENCY_CONFLICT: INVALID_PARAMS,
  TASK_ID_TAKEN: INVALID_PARAMS,
  LIMIT_EXCEEDED: INTERNAL_ERROR,
  RATE_LIMITED: INTERNAL_ERROR,
  STORE_UNAVAILABLE: INTERNAL_ERROR,
  STORE_CLOSED: INTERNAL_ERROR,
  STORE_FAILED: INTERNAL_ERROR,
  STORE_REFUSED: INTERNAL_ERROR,
  STORE_SEALED: INTERNAL_ERROR,
  TASK_TIMED_OUT: INTERNAL_ERROR,
  TASK_CANCELLED: INTERNAL_ERROR,
  TASK_INTERRUPTED: INTERNAL_ERROR,
} as const satisfies Record<TaskErrorCode, number>;

const UNREACHABLE = 'The server cannot reach its task store; try again later';
/** What a peer is told about a store that does not work: paths, keys and causes stay with the operator. */
const PRIVATE: Partial<Record<TaskErrorCode, string>> = {
  STORE_UNAVAILABLE: UNREACHABLE,
  STORE_CLOSED: UNREACHABLE,
  STORE_FAILED: UNREACHABLE,
  STORE_REFUSED: UNREACHABLE,
  STORE_SEALED: 'The server cannot read this task right now; try again later',
};

export function encodeError(error: TaskError): RpcErrorObject {
  const message = PRIVATE[error.code] ?? error.message;
  const data = error instanceof RateLimitedError ? { retryAfterMs: error.retryAfterMs } : undefined;
  return { code: codes[error.code], message, ...(data !== undefined && { data }) };
}

/** Says nothing: whatever went wrong is for the operator. */
export const internalError: RpcErrorObject = { code: INTERNAL_ERROR, message: 'Internal error' };

export function invalidParams(message: string): RpcErrorObject {
  return { code: INVALID_PARAMS, message };
}
