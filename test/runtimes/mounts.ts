// The handler inside each HTTP server we have an example for, mounted as that example mounts it, and our own `listen`.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve as serveHono } from '@hono/node-server';
import * as expressChecks from '@modelcontextprotocol/express';
import * as fastifyChecks from '@modelcontextprotocol/fastify';
import * as honoChecks from '@modelcontextprotocol/hono';
import * as nodeChecks from '@modelcontextprotocol/node';
import { toNodeHandler } from '@modelcontextprotocol/node';
import express5, { type Express, type RequestHandler } from 'express';
// @ts-expect-error The fourth release has types of its own, which are those of the fifth where it matters here.
import express4 from 'express4';
import Fastify, { type FastifyInstance } from 'fastify';
import { Hono, type MiddlewareHandler } from 'hono';
import type { TaskServer } from '../../src/server/index.ts';

/** A server that listens. */
export interface Mounted {
  url: string;
  port: number;
  /** How many connections are open. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

/** What comes before the handler, as applications have it. */
export interface Before {
  express?: RequestHandler[];
  hono?: MiddlewareHandler[];
}

export const frameworks = ['node:http', 'express 5', 'express 4', 'fastify', 'hono'] as const;
export const runtimes = ['listen', ...frameworks] as const;
export type Runtime = (typeof runtimes)[number];

export async function mount(runtime: Runtime, server: TaskServer, before: Before = {}): Promise<Mounted> {
  switch (runtime) {
    case 'listen':
      return ownListener(server);
    case 'node:http':
      return listening(createServer(plain(server)));
    case 'express 5':
      return listening(createServer(mountExpress(express5(), server, before)));
    case 'express 4':
      return listening(createServer(mountExpress(express4() as Express, server, before)));
    case 'fastify': {
      const app = Fastify();
      mountFastify(app, server);
      await app.listen({ port: 0, host: '127.0.0.1' });
      return { ...mounted(app.server), close: () => closeAll(app.server, () => app.close()) };
    }
    case 'hono':
      return new Promise((resolve) => {
        const options = { fetch: honoApp(server, before).fetch, port: 0, hostname: '127.0.0.1' };
        const http = serveHono(options, () => resolve(mounted(http as Server)));
      });
  }
}

async function ownListener(server: TaskServer): Promise<Mounted> {
  const { url, port, close } = await server.listen({ port: 0 });
  return { url, port, close, connections: async () => Number.NaN };
}

function plain(server: TaskServer): RequestListener {
  const mcp = toNodeHandler(server) as RequestListener;
  const allowedHost = nodeChecks.localhostHostValidation();
  const allowedOrigin = nodeChecks.localhostOriginValidation();
  return (req, res) => {
    if (!allowedHost(req, res) || !allowedOrigin(req, res)) return;
    if (req.url === '/mcp') mcp(req, res);
    else res.writeHead(404).end();
  };
}

function mountExpress(app: Express, server: TaskServer, before: Before): Express {
  const mcp = toNodeHandler(server);
  for (const handler of before.express ?? []) app.use(handler);
  app.all(
    '/mcp',
    expressChecks.localhostHostValidation(),
    expressChecks.localhostOriginValidation(),
    (req, res) => void mcp(req, res, req.body),
  );
  return app;
}

function mountFastify(app: FastifyInstance, server: TaskServer): void {
  const mcp = toNodeHandler(server) as RequestListener;
  app.register((scope, _options, ready) => {
    scope.addHook('onRequest', fastifyChecks.localhostHostValidation());
    scope.addHook('onRequest', fastifyChecks.localhostOriginValidation());
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _body, done) => done(null)); // The handler reads the body.
    scope.all('/mcp', (request, reply) => {
      reply.hijack();
      mcp(request.raw, reply.raw);
    });
    ready();
  });
}

function honoApp(server: TaskServer, before: Before): Hono {
  const app = new Hono();
  for (const handler of before.hono ?? []) app.use(handler);
  app.use('/mcp', honoChecks.localhostHostValidation(), honoChecks.localhostOriginValidation());
  app.all('/mcp', (c) => server.fetch(c.req.raw));
  return app;
}

async function listening(http: Server): Promise<Mounted> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return mounted(http);
}

function mounted(http: Server): Mounted {
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    connections: () => new Promise((resolve) => http.getConnections((_error, count) => resolve(count))),
    close: () => closeAll(http, () => new Promise<void>((resolve) => void http.close(() => resolve()))),
  };
}

async function closeAll(http: Server, close: () => Promise<unknown>): Promise<void> {
  const closed = close();
  http.closeAllConnections();
  await closed;
}
