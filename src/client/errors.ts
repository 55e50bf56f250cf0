import type { JsonValue, RpcErrorObject } from '../core/index.ts';

/** How a call can end without a result. Callers branch on `code`, never on `message`. */
export type CallErrorCode =
  | 'CALL_FAILED'
  | 'CALL_CANCELLED'
  | 'CALL_EXPIRED'
  | 'CALL_LOST'
  | 'CALL_REFUSED'
  | 'CALL_UNKNOWN'
  | 'CALL_DETACHED'
  | 'CALL_NOT_FOUND'
  | 'CALL_AMBIGUOUS'
  | 'CALL_OPEN'
  | 'CALL_ANSWER_INVALID'
  | 'CALL_LOG_UNAVAILABLE'
  | 'CLIENT_CLOSED';

export abstract class CallError extends Error {
  abstract readonly code: CallErrorCode;
  /** The id of the call; undefined where the error is about none, or more than one. */
  readonly callId: string | undefined;
  constructor(message: string, callId: string | undefined) {
    super(message);
    this.callId = callId;
  }
}

/** The call ended with an error of the protocol. A tool's own failure (`isError`) is a result, and returned. */
export class CallFailedError extends CallError {
  override readonly name = 'CallFailedError';
  readonly code = 'CALL_FAILED';
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  readonly data: JsonValue | undefined;
  constructor(callId: string, { code, message, data }: RpcErrorObject) {
    super(message, callId);
    this.rpcCode = code;
    this.data = data;
  }
}

/** The server refused the call: nothing ran. */
export class CallRefusedError extends CallError {
  override readonly name = 'CallRefusedError';
  readonly code = 'CALL_REFUSED';
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  readonly data: JsonValue | undefined;
  constructor(callId: string, { code, message, data }: RpcErrorObject) {
    super(message, callId);
    this.rpcCode = code;
    this.data = data;
  }
}

/** Cancelled, by this side or by the server. */
export class CallCancelledError extends CallError {
  override readonly name = 'CallCancelledError';
  readonly code = 'CALL_CANCELLED';
  constructor(callId: string, reason = 'the call was cancelled') {
    super(reason, callId);
  }
}

/** Its time was over before a result was read. */
export class CallExpiredError extends CallError {
  override readonly name = 'CallExpiredError';
  readonly code = 'CALL_EXPIRED';
}

/** The server does not know the task any more, or cannot be understood: what became of it cannot be learnt. */
export class CallLostError extends CallError {
  override readonly name = 'CallLostError';
  readonly code = 'CALL_LOST';
}

/** The request was sent and no answer kept. Whether the tool ran is not known, so it was not sent again. */
export class CallUnknownError extends CallError {
  override readonly name = 'CallUnknownError';
  readonly code = 'CALL_UNKNOWN';
}

/** Nobody waits here any more; the call goes on, and its completion comes through the inbox. */
export class CallDetachedError extends CallError {
  override readonly name = 'CallDetachedError';
  readonly code = 'CALL_DETACHED';
  constructor(callId: string, why: string) {
    super(`${why}; the call goes on in the background`, callId);
  }
}

/** The journal holds no such call: it never did, or it was acknowledged and forgotten. */
export class CallNotFoundError extends CallError {
  override readonly name = 'CallNotFoundError';
  readonly code = 'CALL_NOT_FOUND';
  constructor(callId: string) {
    super(`no call ${callId} is in the journal`, callId);
  }
}

/** More than one call in the journal has an id that begins so. */
export class CallAmbiguousError extends CallError {
  override readonly name = 'CallAmbiguousError';
  readonly code = 'CALL_AMBIGUOUS';
  constructor(prefix: string) {
    super(`more than one call has an id that begins with ${prefix}; give more of it`, undefined);
  }
}

/** What was asked for needs a call that is over. */
export class CallOpenError extends CallError {
  override readonly name = 'CallOpenError';
  readonly code = 'CALL_OPEN';
  constructor(callId: string) {
    super(`the call ${callId} is not over; cancel it first`, callId);
  }
}

/** An answer does not fit its question. Nothing was written or sent; the question is still open. */
export class CallAnswerInvalidError extends CallError {
  override readonly name = 'CallAnswerInvalidError';
  readonly code = 'CALL_ANSWER_INVALID';
  /** The key of the question. */
  readonly key: string;
  constructor(callId: string, key: string, problem: string) {
    super(`the answer to "${key}" does not fit: ${problem}`, callId);
    this.key = key;
  }
}

/** The log of a call cannot be read: its server tells none, or not any more, or is not connected here. */
export class CallLogUnavailableError extends CallError {
  override readonly name = 'CallLogUnavailableError';
  readonly code = 'CALL_LOG_UNAVAILABLE';
  constructor(callId: string, why: string, options?: ErrorOptions) {
    super(`there is no log to read: ${why}`, callId);
    this.cause = options?.cause;
  }
}

/** The client was closed by its own process. Its calls are in the journal. */
export class ClientClosedError extends CallError {
  override readonly name = 'ClientClosedError';
  readonly code = 'CLIENT_CLOSED';
  constructor() {
    super('the task client is closed', undefined);
  }
}
