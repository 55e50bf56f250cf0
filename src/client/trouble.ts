import { type FetchLike, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { type Clock, isJsonObject, type RpcErrorObject } from '../core/index.ts';
import { readError } from '../wire/peer-task.ts';
import { RemoteError, RemoteProtocolError, RemoteRefusedError, RemoteUnreachableError } from './remote-errors.ts';

/** Causes of a failed `fetch` that say that nothing was sent: the server was never reached. */
const NEVER_SENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** What a server that is too busy is answered with, and what proxies say in its place. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** What a request that could not be sent, or was answered by no message, means to whoever sent it. */
export function asRemoteError(error: unknown): RemoteError {
  if (error instanceof RemoteError) return error;
  if (error instanceof SdkHttpError) return httpError(error);
  const cause = { cause: error };
  if (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) {
    return new RemoteUnreachableError('not connected', { ...cause, mayHaveRun: false });
  }
  const said = error instanceof Error ? error.message : String(error);
  // The SDK checks what it reads to be JSON-RPC, and throws what its checker says.
  if (error instanceof Error && error.name.endsWith('ZodError')) {
    return new RemoteProtocolError('the answer is no JSON-RPC message', cause);
  }
  if (error instanceof Error && error.name === 'UnauthorizedError') {
    return new RemoteUnreachableError('the server wants an authorization first', { ...cause, mayHaveRun: false });
  }
  return new RemoteUnreachableError(said, { ...cause, mayHaveRun: !NEVER_SENT.has(codeOf(error)) });
}

function httpError(error: SdkHttpError): RemoteError {
  const { status } = error;
  if (LATER.has(status)) return busy(status, undefined, error);
  const said = errorIn(error.data.text);
  if (said !== undefined) return new RemoteRefusedError(said, { cause: error });
  const message = `HTTP ${status}${error.statusText ? ` ${error.statusText}` : ''}`;
  if (status === 401 || status === 403) {
    return new RemoteUnreachableError(message, { cause: error, mayHaveRun: false });
  }
  return new RemoteRefusedError({ code: -32000, message }, { cause: error });
}

/** An error of the protocol in a body that came with an HTTP status of its own, as 404 for an unknown method. */
function errorIn(text: unknown): RpcErrorObject | undefined {
  if (typeof text !== 'string') return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined; // A page of a proxy's; the status says enough.
  }
  return isJsonObject(body) && isJsonObject(body.error) ? readError(body.error) : undefined;
}

/** @param retryAfterMs what the server said, if it did */
function busy(status: number, retryAfterMs: number | undefined, cause?: unknown): RemoteUnreachableError {
  // Only 429 promises that nothing was done: the others also come from proxies, after their server was.
  return new RemoteUnreachableError(`HTTP ${status}`, { cause, mayHaveRun: status !== 429, retryAfterMs });
}

function codeOf(error: unknown): unknown {
  const { code, cause } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return code ?? (cause === undefined ? undefined : codeOf(cause));
}

/**
 * `fetch` that reads how long a busy server wants to be left alone, which the SDK's errors do not say.
 * @see RFC 9110, 10.2.3
 */
export function heedingRetryAfter(inner: FetchLike, clock: Clock): FetchLike {
  return async (url, init) => {
    const response = await inner(url, init);
    const { status, headers } = response;
    if (status !== 429 && status !== 503) return response;
    await response.body?.cancel();
    throw busy(status, retryAfterMs(headers.get('retry-after'), clock.now()));
  };
}

/** Seconds, or a date. */
function retryAfterMs(said: string | null, now: number): number | undefined {
  if (said === null) return undefined;
  const ms = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
