import type { RpcErrorObject } from '../core/index.ts';
import { RemoteGoneError, RemoteProtocolError, RemoteRefusedError, RemoteUnreachableError } from './remote-errors.ts';

/** What an error of a server means for the call it is about. */
export type Trouble =
  | { kind: 'refused'; error: RpcErrorObject }
  | { kind: 'gone'; message: string }
  | { kind: 'unreachable'; message: string; mayHaveRun: boolean; retryAfterMs: number | undefined }
  | { kind: 'protocol'; message: string };

/** Undefined for what is no error of a server: a fault of ours says nothing about the call. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof RemoteRefusedError) {
    const { rpcCode: code, message, data } = error;
    return { kind: 'refused', error: { code, message, ...(data !== undefined && { data }) } };
  }
  if (error instanceof RemoteGoneError) return { kind: 'gone', message: error.message };
  if (error instanceof RemoteUnreachableError) {
    const { message, mayHaveRun, retryAfterMs } = error;
    return { kind: 'unreachable', message, mayHaveRun, retryAfterMs };
  }
  if (error instanceof RemoteProtocolError) return { kind: 'protocol', message: error.message };
  return undefined;
}
