import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import type { Logger } from '../core/index.ts';
import { internalError } from '../wire/errors.ts';
import type { Authentication } from './auth/authentication.ts';
import { CONNECTION_TIMES, dropStalled, timesOf } from './connection-times.ts';
import { withoutNullId } from './error-body.ts';
import { serveHooks, type TakeHook } from './hooks.ts';

export interface ListenOptions {
  /** @default 7717; 0 takes any free port */
  port?: number;
  /** The address to bind. Anything but loopback needs `auth`, or `insecure`. @default '127.0.0.1' */
  host?: string;
  /** Where MCP is served. @default '/mcp' */
  path?: string;
  /** Who is let in: `oauth(…)` or `bearerTokens(…)`. @default that of the server; without one, everybody */
  auth?: Authentication;
  /** Serve the network without authentication: whoever reaches the port may call every tool. @default false */
  insecure?: boolean;
  /** Host names a request may be addressed to. @default the loopback names */
  allowedHosts?: string[];
  /** Host names of web pages that may send requests. @default the loopback names */
  allowedOrigins?: string[];
}

export interface Listening {
  /** Where clients connect to. */
  readonly url: string;
  readonly port: number;
  /** Stops accepting and closes every connection. */
  close(): Promise<void>;
}

/** What is not for users to say. */
export interface ListenParts {
  logger: Logger;
  /** Takes what services send to `/hooks/{tool}`. @default nobody does */
  hooks?: TakeHook | undefined;
}

/** The port is taken, or may not be used. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** How long connections stay open for what has been written to them. */
const LAST_WORDS_MS = 50;

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Binds a port and serves `fetch` under `path`, for requests that name an allowed host and come from an allowed origin.
 * @throws {ListenError} when the address cannot be bound; the message says why and what to do.
 * @throws {TypeError} when the address is not loopback and neither `auth` nor `insecure` was given.
 */
export async function listen(
  fetch: (request: Request) => Promise<Response>,
  options: ListenOptions & ListenParts,
  times = CONNECTION_TIMES,
): Promise<Listening> {
  const { port = 7717, host = '127.0.0.1', path = '/mcp', insecure = false, auth } = options;
  if (!isLoopback(host) && !insecure && auth === undefined) {
    throw new TypeError(
      `listen: host ${host} is reachable by others and this server checks no tokens; ` +
        'bind 127.0.0.1, pass auth, put an authenticating proxy in front, or pass insecure: true',
    );
  }
  const server = createAdaptorServer({
    fetch: guarded(fetch, path, options, isLoopback(host)).fetch,
    serverOptions: timesOf(times),
  }) as Server;
  dropStalled(server, times);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(bindError(error, host, port)));
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  let closing: Promise<void> | undefined;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}${path}`,
    port: bound,
    close: () => {
      closing ??= new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        // What was written last is still on its way to the sockets.
        setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS);
      });
      return closing;
    },
  };
}

/** Host and Origin come first: a web page that rebinds a name to 127.0.0.1 must not reach a single tool. */
function guarded(
  fetch: (request: Request) => Promise<Response>,
  path: string,
  options: ListenOptions & ListenParts,
  loopback: boolean,
): Hono {
  const hosts = options.allowedHosts ?? (loopback ? localhostAllowedHostnames() : undefined);
  const origins = options.allowedOrigins ?? localhostAllowedOrigins();
  const app = new Hono();
  // Hono would write it to stderr, past everybody's logger.
  app.onError((error) => {
    options.logger.error({ error }, 'a request could not be served');
    return Response.json({ jsonrpc: '2.0', error: internalError }, { status: 500 });
  });
  if (options.hooks !== undefined) serveHooks(app, options.hooks);
  app.use(async (context, next) => {
    const request = context.req.raw;
    const refused =
      (hosts === undefined ? undefined : hostHeaderValidationResponse(request, hosts)) ??
      originValidationResponse(request, origins);
    if (refused !== undefined) return withoutNullId(refused);
    await next();
    return undefined;
  });
  app.all(path, (context) => fetch(context.req.raw));
  // Read before there is a token. It says where to get one, under a path of its own.
  const metadata = options.auth?.metadata?.bind(options.auth);
  if (metadata !== undefined) app.use(async (context, next) => metadata(context.req.raw) ?? next());
  return app;
}

function bindError(error: NodeJS.ErrnoException, host: string, port: number): ListenError {
  const at = `${host}:${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return new ListenError(`port ${at} is in use by another process; stop it, or pass another port`, {
        cause: error,
      });
    case 'EACCES':
      return new ListenError(`port ${at} may not be used by this user; pass a port above 1023`, { cause: error });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ListenError(`${host} is not an address of this machine; bind 127.0.0.1, or an address it has`, {
        cause: error,
      });
    default:
      return new ListenError(`cannot listen on ${at}: ${error.message}`, { cause: error });
  }
}
