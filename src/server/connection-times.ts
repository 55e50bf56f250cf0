import type { Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a connection may keep a server waiting, in milliseconds. */
export interface ConnectionTimes {
  /** Until the head of a request is there. */
  headMs: number;
  /** Until all of a request is there. */
  requestMs: number;
  /** Between two requests. Longer than the minute for which most proxies keep their connections, so that they end them. */
  idleMs: number;
  /** While nothing is taken of what was written. */
  stalledMs: number;
}

export const CONNECTION_TIMES: ConnectionTimes = {
  headMs: 20_000,
  requestMs: 120_000,
  idleMs: 75_000,
  stalledMs: 120_000,
};

/** A silent connection is asked by TCP whether its peer is still there. */
const PROBE_AFTER_MS = 60_000;

/** For `http.createServer`. Only a request has to be there in time; an answer may take as long as it takes. */
export function timesOf({ headMs, requestMs, idleMs }: ConnectionTimes): ServerOptions {
  return {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(5_000, headMs),
    keepAliveTimeout: idleMs,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  };
}

/**
 * Closes connections whose peer takes nothing of what was written, which TCP by itself would keep for ever. One whose
 * answer is not there yet is left alone.
 */
export function dropStalled(server: Server, { stalledMs }: ConnectionTimes): void {
  /** Of several requests that came on one connection before their answers, the last: it is answered last. */
  const serving = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, response) => {
    serving.set(socket, response);
    response.once('close', () => {
      if (serving.get(socket) === response) serving.delete(socket);
    });
  });
  // Time without anything read or written. With a listener, what to do about it is up to us, also between two requests.
  server.timeout = stalledMs;
  server.on('timeout', (socket) => {
    if (!serving.has(socket) || socket.writableLength > 0) socket.destroy();
  });
}
