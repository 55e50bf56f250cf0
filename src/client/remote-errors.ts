import type { JsonValue, RpcErrorObject } from '../core/index.ts';

/** What goes wrong between a client and its server. Callers branch on `code`, never on `message`. */
export type RemoteErrorCode = 'REMOTE_REFUSED' | 'REMOTE_GONE' | 'REMOTE_UNREACHABLE' | 'REMOTE_PROTOCOL';

export abstract class RemoteError extends Error {
  abstract readonly code: RemoteErrorCode;
}

/** The server answered with an error: the request was understood and not done. */
export class RemoteRefusedError extends RemoteError {
  override readonly name = 'RemoteRefusedError';
  readonly code = 'REMOTE_REFUSED';
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  readonly data: JsonValue | undefined;
  constructor({ code, message, data }: RpcErrorObject, options?: ErrorOptions) {
    super(message, options);
    this.rpcCode = code;
    this.data = data;
  }

  /** The error as it came. */
  get rpc(): RpcErrorObject {
    const { rpcCode: code, message, data } = this;
    return { code, message, ...(data !== undefined && { data }) };
  }
}

/** The server knows no such task: it never was, has expired, or is somebody else's. */
export class RemoteGoneError extends RemoteError {
  override readonly name = 'RemoteGoneError';
  readonly code = 'REMOTE_GONE';
}

/** No answer came. Whether the request was carried out is not known unless `mayHaveRun` is false. */
export class RemoteUnreachableError extends RemoteError {
  override readonly name = 'RemoteUnreachableError';
  readonly code = 'REMOTE_UNREACHABLE';
  /** Whether the request may have reached the server and been carried out. */
  readonly mayHaveRun: boolean;
  /** How long the server asked to be left alone, in milliseconds; undefined: it did not say. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: ErrorOptions & { mayHaveRun: boolean; retryAfterMs?: number | undefined }) {
    super(message, options);
    this.mayHaveRun = options.mayHaveRun;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The peer broke the protocol. The same request would meet the same answer: it is never sent again. */
export class RemoteProtocolError extends RemoteError {
  override readonly name = 'RemoteProtocolError';
  readonly code = 'REMOTE_PROTOCOL';
}
