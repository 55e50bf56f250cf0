import type { ConnectOptions, RemoteOptions } from '../../src/client/connect-remote.ts';
import type { Remote } from '../../src/client/remote.ts';
import type { Json } from '../support/messages.ts';
import { connected } from './remotes.ts';

/** What a server answers to a request: a result, an error, or a response of HTTP's own. */
export type Answered = { result: unknown } | { error: unknown } | Response;
export type Methods = Record<string, (params: Json, request: Request) => Answered | Promise<Answered>>;

export interface Fake {
  remote: Remote;
  /** What was sent, in order. */
  sent: { method: string; params: Json; headers: Headers }[];
  /** How often a method was called. */
  count(method: string): number;
}

export interface Faking extends RemoteOptions {
  version?: string;
  /** What the server declares. */
  capabilities?: Json;
  methods: Methods;
  /** Answers what `methods` does not: event streams, and replies to what it asked itself. */
  through?: (url: string | URL, init?: RequestInit) => Promise<Response>;
}

const tasksOf: Record<string, Json> = {
  '2026-07-28': { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
  '2025-11-25': { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
};

/** A server that does as it is told, right or wrong, over HTTP within this process; and a client of ours on it. */
export async function fake({
  version = '2026-07-28',
  capabilities,
  methods,
  through,
  ...options
}: Faking): Promise<Fake> {
  const sent: Fake['sent'] = [];
  const declared = capabilities ?? tasksOf[version] ?? { tools: {} };
  const hello: Methods = {
    'server/discover': () => ({
      result: {
        resultType: 'complete',
        supportedVersions: [version],
        capabilities: declared,
        ttlMs: 1_000,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'fake', version: '1' } },
      },
    }),
    initialize: () => ({
      result: { protocolVersion: version, capabilities: declared, serverInfo: { name: 'fake', version: '1' } },
    }),
    'tools/list': () => ({
      result: { tools: [{ name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }] },
    }),
  };
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method, params = {} } = (await request.clone().json()) as Json & { params?: Json };
    if (id === undefined) return new Response(null, { status: 202 });
    const known = methods[String(method)] ?? hello[String(method)];
    if (known === undefined && through !== undefined) return through(url, init);
    if (method === undefined) return new Response(null, { status: 202 });
    sent.push({ method: String(method), params: params as Json, headers: request.headers });
    const answered = (await known?.(params as Json, request)) ?? {
      error: { code: -32601, message: 'Method not found' },
    };
    return answered instanceof Response ? answered : Response.json({ jsonrpc: '2.0', id, ...answered });
  };
  const remote = await connected({
    url: 'http://127.0.0.1/mcp',
    http: { fetch },
    protocol: version,
    ...options,
  } as ConnectOptions);
  return { remote, sent, count: (method) => sent.filter((one) => one.method === method).length };
}

/** A task that a server tells, whole. */
export function aTask(more: Json = {}): Json {
  return {
    taskId: 't-1',
    status: 'working',
    createdAt: '2026-08-01T08:00:00.000Z',
    lastUpdatedAt: '2026-08-01T08:00:00.000Z',
    ...more,
  };
}
