import { completable, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { ANONYMOUS_PRINCIPAL } from '../../src/core/index.ts';
import type { Tasks } from '../../src/engine/index.ts';
import {
  bearerTokens,
  type CallerAuth,
  createTaskHandler,
  createTaskServer,
  type TaskServer,
} from '../../src/server/index.ts';
import { authOf } from './cast.ts';
import type { Who } from './steps.ts';

/** What a target serves; `as` is who its server is told to be calling. */
export interface Served {
  fetch(request: Request, as: Who): Promise<Response>;
  /** Where it listens, if its messages go over sockets. */
  port?: number;
  close(): Promise<void>;
}

/** A server to be fuzzed. Another one is one more entry of {@link targets}. */
export interface Target {
  name: string;
  /** How often it is chosen, compared to the others. */
  weight: number;
  speakers: readonly Who[];
  /** Who brings no token is not known, rather than the one local user. */
  open: boolean;
  /** It has tasks in sessions before 2025-11-25 too. */
  firstDraft?: true;
  /** It listens: bytes of any kind can be sent to it. */
  sockets?: true;
  /** Undefined: a process of its own on stdio, see `stdio-process.ts`. */
  serve?(tasks: Tasks): Served | Promise<Served>;
}

const info = { name: 'fuzzed', version: '1.2.3' };

export const targets: readonly Target[] = [
  {
    name: 'a task server',
    weight: 5,
    speakers: ['ada', 'ada', 'bob', 'bob', 'local', 'nobody'],
    open: false,
    serve(tasks) {
      return withoutSockets(createTaskServer(tasks, info, { relatedTasks: true }));
    },
  },
  {
    name: 'a server that speaks the first draft',
    weight: 2,
    speakers: ['ada', 'bob', 'local'],
    open: false,
    firstDraft: true,
    serve(tasks) {
      return withoutSockets(createTaskServer(tasks, info, { firstDraft: true }));
    },
  },
  {
    name: 'a server of its own',
    weight: 3,
    speakers: ['ada', 'bob', 'local'],
    open: false,
    serve(tasks) {
      const handler = createTaskHandler(tasks, ownServer, { isErrorStatus: 'completed', inlineWithinMs: 100 });
      return {
        fetch: (request, as) => handler.fetch(request, told(as)),
        close: async () => {
          await handler.close();
          await tasks.close();
        },
      };
    },
  },
  {
    name: 'a server open to anybody',
    weight: 2,
    speakers: ['local', 'ada'],
    open: true,
    serve(tasks) {
      const server = createTaskServer(tasks, info, {
        principal: ({ auth }) => {
          const sub = auth?.extra?.['sub'];
          return typeof sub === 'string' ? { subject: `https://id|${sub}` } : ANONYMOUS_PRINCIPAL;
        },
      });
      return withoutSockets(server);
    },
  },
  {
    name: 'a listener',
    weight: 0.8,
    speakers: ['local'],
    open: false,
    sockets: true,
    async serve(tasks) {
      const server = createTaskServer(tasks, info, { signals: false });
      const { port, url } = await server.listen({ port: 0 });
      return { port, fetch: (request) => overSockets(url, request, {}), close: () => server.close() };
    },
  },
  {
    name: 'a listener that checks tokens',
    weight: 0.8,
    speakers: ['ada', 'bob', 'bob', 'nobody'],
    open: false,
    sockets: true,
    async serve(tasks) {
      const auth = bearerTokens({ tokens: tokens.map(({ who, token }) => ({ token, subject: who })) });
      const principal = ({ auth: caller }: { auth: CallerAuth | undefined }) => ({
        subject: `https://id|${caller?.extra?.['sub']}`,
      });
      const server = createTaskServer(tasks, info, { signals: false, auth, principal });
      const { port, url } = await server.listen({ port: 0 });
      const fetch: Served['fetch'] = (request, as) => {
        const token = tokens.find(({ who }) => who === as)?.token;
        return overSockets(url, request, token === undefined ? {} : { authorization: `Bearer ${token}` });
      };
      return { port, fetch, close: () => server.close() };
    },
  },
  { name: 'a server on stdio', weight: 0.6, speakers: ['local'], open: false },
];

/** What callers bring to a listener that checks it. */
const tokens = [
  { who: 'ada', token: 'ada-0123456789abcdef0123456789abcdef' },
  { who: 'bob', token: 'bob-0123456789abcdef0123456789abcdef' },
] as const;

async function overSockets(url: string, request: Request, more: Record<string, string>): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  const { method, signal } = request;
  const body = request.body === null ? undefined : await request.arrayBuffer();
  const response = await fetch(url, { method, headers, signal, ...(body !== undefined && { body }) });
  const answered = new Headers(response.headers);
  answered.delete('date'); // Of all that comes, the one thing that depends on when.
  return new Response(response.body, { status: response.status, headers: answered });
}

function withoutSockets(server: TaskServer): Served {
  return { fetch: (request, as) => server.fetch(request, told(as)), close: () => server.close() };
}

function told(as: Who) {
  const authInfo = authOf(as);
  return authInfo === undefined ? {} : { authInfo };
}

/** With tools, prompts and resources that know nothing of tasks. */
function ownServer(): McpServer {
  const capabilities = { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} };
  const mcp = new McpServer(info, { capabilities });
  mcp.registerTool('own_ask', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, ctx) => {
    const answer = await ctx.mcpReq.elicitInput({
      message: what,
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return { content: [{ type: 'text', text: JSON.stringify(answer.content ?? answer.action) }] };
  });
  mcp.registerTool('own_add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }, ctx) => {
    await ctx.mcpReq.log('info', 'adding');
    return { content: [{ type: 'text', text: String(a + b) }] };
  });
  mcp.registerResource('own', 'test://own', { mimeType: 'text/plain' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'own' }],
  }));
  const topic = completable(z.string(), (value) => ['prose', 'poems'].filter((one) => one.startsWith(value)));
  mcp.registerPrompt('own_prompt', { argsSchema: z.object({ topic }) }, ({ topic }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Write about ${topic}` } }],
  }));
  return mcp;
}
