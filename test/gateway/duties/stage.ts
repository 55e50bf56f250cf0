import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createTasks, type Tasks, type TasksOptions } from '../../../src/engine/index.ts';
import type { GatewayConfig, UpstreamConfig, UpstreamTarget } from '../../../src/gateway/config/types.ts';
import { type Gateway, type GatewayOptions, openGateway } from '../../../src/gateway/gateway.ts';
import { createTaskServer, type TaskServer, type TaskServerOptions } from '../../../src/server/index.ts';
import { type ListenOptions, listen } from '../../../src/server/listen.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { over, Peer, type Watching, watchedBy } from '../../server/peer.ts';
import type { Json } from '../../support/messages.ts';
import { scratchFolder, silent } from '../../support/stores.ts';
import { createWireValidator } from '../../support/wire-validator.ts';

/** What a server speaks, and nothing newer. */
export type Generation = '2026-07-28' | '2025-11-25' | '2025-06-18';

/** A message that a server was sent, and when. */
export interface Sent {
  message: Json;
  /** By the machine's clock. */
  at: number;
}

/** A server of ours on a port, with all that it is sent. */
export interface UpstreamStand {
  tasks: Tasks;
  server: TaskServer;
  target: UpstreamTarget;
  sent: Sent[];
  /** What it was sent of one method, or as answers to its own requests (`undefined`). */
  of(method: string | undefined): Json[];
}

type Serve = (request: Request) => Promise<Response>;

/** Serves tools on a port, to clients of one generation of tasks. */
export async function upstreamOf(
  generation: Generation,
  register: (tasks: Tasks) => void,
  options: { tasks?: Partial<TasksOptions>; server?: TaskServerOptions } = {},
): Promise<UpstreamStand> {
  const tasks = createTasks({
    store: sqliteStore(':memory:'),
    logger: silent,
    drainMs: 0,
    stopGraceMs: 0,
    ...options.tasks,
  });
  register(tasks);
  const firstDraft = generation === '2025-06-18';
  const server = createTaskServer(tasks, { name: 'upstream', version: '1.2.3' }, { firstDraft, ...options.server });
  onTestFinished(() => server.close());
  const { target, sent, of } = await onPort(speaking(generation, (request) => server.fetch(request)));
  return { tasks, server, target, sent, of };
}

/** Serves what keeps to no rule of ours, over HTTP. */
export async function onPort(serve: Serve): Promise<Pick<UpstreamStand, 'target' | 'sent' | 'of'>> {
  const sent: Sent[] = [];
  const listening = await listen(
    async (request) => {
      if (request.method === 'POST')
        sent.push({ message: (await request.clone().json()) as Json, at: performance.now() });
      return serve(request);
    },
    { port: 0, logger: silent } as ListenOptions & { logger: typeof silent },
  );
  onTestFinished(() => listening.close());
  return {
    target: { url: listening.url, headers: {}, forwardAuthorization: false },
    sent,
    of: (method) => sent.map(({ message }) => message).filter((message) => message['method'] === method),
  };
}

/** As a server does that was written before the newer revisions. */
function speaking(generation: Generation, serve: Serve): Serve {
  if (generation === '2026-07-28') return serve;
  return async (request) => {
    if (request.method !== 'POST') return serve(request);
    const version = request.headers.get('mcp-protocol-version') ?? '';
    if (version > '2025-11-25') {
      const error = { code: -32000, message: 'Bad Request: Unsupported protocol version' };
      return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 });
    }
    const message = (await request.clone().json()) as { method?: string; params: Json };
    if (message.method !== 'initialize' || generation === '2025-11-25') return serve(request);
    const params = { ...message.params, protocolVersion: generation };
    const { url, method, headers } = request;
    const own = new Headers(headers);
    own.delete('content-length');
    return serve(new Request(url, { method, headers: own, body: JSON.stringify({ ...message, params }) }));
  };
}

export function upstream(target: UpstreamTarget, own: Partial<UpstreamConfig> = {}): UpstreamConfig {
  return { name: 'up', prefix: '', policy: {}, tools: [], target, ...own };
}

export interface Standing extends Watching {
  gateway: Gateway;
  url: string;
  /** Speaks to it by 2026-07-28; for sessions, `LegacyPeer.connect(standing)`. */
  peer: Peer;
  stateFolder: string;
}

export function stateFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'state');
}

/** A gateway that listens, and answers with a handle however quick a task is. All that it says is held against the rules. */
export async function gatewayOf(
  config: Partial<GatewayConfig> & Pick<GatewayConfig, 'upstreams'>,
  options: Partial<GatewayOptions> & { port?: number } = {},
): Promise<Standing> {
  const { port = 0, ...own } = options;
  const folder = own.stateFolder ?? stateFolder();
  const gateway = await openGateway({ ...own, stateFolder: folder, config: { inlineWithinMs: 0, ...config } });
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen({ port });
  const validator = createWireValidator({ firstDraft: config.firstDraft ?? false });
  onTestFinished(() => validator.assertClean());
  const peer = new Peer(over(url), validator);
  return {
    gateway,
    url,
    peer,
    stateFolder: folder,
    ...watchedBy(peer, gateway.tasks),
  };
}

/** Waits for something that nobody tells of, as long as a test may take. */
export async function until<Value>(look: () => Value | undefined | false): Promise<Value> {
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
