import { type Agent as HttpAgent, type IncomingMessage, request as overHttp } from 'node:http';
import { type Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { Clock } from '../../core/index.ts';
import type { Address } from './addresses.ts';
import { HttpTroubleError, RefusedError } from './errors.ts';

export interface Exchange {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** What the URL's host is reached at; nothing else is asked for. */
  addresses: readonly Address[];
  /** Of connections that may be kept; false: one of its own, which a request that must not come twice needs. */
  agent: HttpAgent | HttpsAgent | false;
  clock: Clock;
  timeoutMs: number;
  responseBytes: number;
  signal: AbortSignal;
}

export interface Exchanged {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

/**
 * One request and its answer.
 * @throws {HttpTroubleError} when there was none; with `mayHaveStarted: false` when the request certainly did not leave.
 * @throws {RefusedError} when the answer is too large, or compressed though nobody asked for that.
 */
export async function exchange(options: Exchange): Promise<Exchanged> {
  const { method, url, headers, body, addresses, agent, clock, timeoutMs, signal } = options;
  signal.throwIfAborted();
  const secure = url.protocol === 'https:';
  let connected = false;
  const request = (secure ? overHttps : overHttp)(url, {
    method,
    headers: {
      ...headers,
      'accept-encoding': 'identity',
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    },
    agent: agent as HttpAgent,
    lookup: (_host, { all }, callback) => {
      const [first] = addresses as [Address, ...Address[]];
      if (all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    },
  });
  request.on('socket', (socket) => {
    connected = request.reusedSocket;
    if (connected) return;
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      connected = true;
    });
  });
  const stop = (error: Error): void => void request.destroy(error);
  const late = new HttpTroubleError(`${url.origin} did not answer within ${timeoutMs} ms`, { code: 'ETIMEDOUT' });
  const timer = clock.setTimer(timeoutMs, () => stop(late));
  const aborted = (): void => stop(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal.addEventListener('abort', aborted, { once: true });
  try {
    return await new Promise<Exchanged>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) => {
        read(response, options).then(resolve, (error: Error) => {
          reject(error);
          request.destroy();
        });
      });
      request.end(body);
    });
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    if (signal.aborted) throw signal.reason;
    const { code = 'ECONNRESET' } = error as { code?: string };
    const how =
      error === late ? `did not answer within ${timeoutMs} ms` : connected ? 'broke off' : 'cannot be reached';
    throw new HttpTroubleError(`${url.origin} ${how} (${code})`, { code, mayHaveStarted: connected, cause: error });
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', aborted);
  }
}

async function read(response: IncomingMessage, { responseBytes, url }: Exchange): Promise<Exchanged> {
  const { statusCode: status = 0, headers } = response;
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new RefusedError(`${url.origin} answered compressed (content-encoding), which it was not asked for`);
  }
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > responseBytes) {
      throw new RefusedError(`${url.origin} answered with more than limits.responseBytes (${responseBytes})`);
    }
    pieces.push(piece);
  }
  return { status, headers, body: Buffer.concat(pieces) };
}
