import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type ConnectTarget, openTaskClient, type TaskClient } from '../client/index.ts';
import { type Clock, type Logger, type RandomSource, systemClock, systemRandom } from '../core/index.ts';
import { createTasks, type Tasks } from '../engine/index.ts';
import type { Front, FrontAsker, FrontConnection, FrontView } from '../server/front/front.ts';
import { FrontServer } from '../server/front/front-server.ts';
import type { Listening, ListenOptions, StdioTaskServer } from '../server/index.ts';
import { serveTaskStdio, serveTaskStream } from '../server/stdio.ts';
import { type AnnouncingServer, serveFactory } from '../server/task-server.ts';
import { sqliteStore } from '../store/index.ts';
import type { GatewayConfig, UpstreamConfig } from './config/types.ts';
import type { Lane } from './lanes/lane.ts';
import { reach } from './lanes/reach.ts';
import { rpcError } from './relay/direct.ts';
import { type Behind, viewOf } from './relay/view.ts';
import { SlowTools } from './slow-tools.ts';
import { Upstream } from './upstream.ts';

export interface GatewayOptions {
  /** Where tasks and calls are kept; made with mode 0700 if it is not there. */
  stateFolder: string;
  config: GatewayConfig;
  /** @default says nothing */
  logger?: Logger;
  /** @default the machine's */
  clock?: Clock;
  /** @default the machine's */
  random?: RandomSource;
}

const INFO = { name: 'longcall-gateway', version: '0.1.0' };
const TOOLS_CHANGED = 'notifications/tools/list_changed';
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Opens the state and goes on with what is in it: tasks that were open are followed as soon as their upstream is reached. */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { stateFolder, config, logger = silent, clock = systemClock, random = systemRandom } = options;
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  chmodSync(stateFolder, 0o700);
  const { slots, openTasksPerPrincipal, maxResultBytes } = config.limits ?? {};
  const tasks = createTasks({
    store: sqliteStore(join(stateFolder, 'tasks.db')),
    clock,
    random,
    logger,
    ...(slots !== undefined && { slots }),
    ...(openTasksPerPrincipal !== undefined && { maxOpenTasksPerPrincipal: openTasksPerPrincipal }),
    ...(maxResultBytes !== undefined && { maxResultBytes }),
  });
  const client = await openTaskClient({ journal: join(stateFolder, 'calls.db'), tasks, clock, random, logger });
  const secret = await tasks.engine.secret();
  return new Gateway({ ...options, logger, clock, random, tasks, client, secret });
}

interface GatewayParts extends Required<GatewayOptions> {
  tasks: Tasks;
  client: TaskClient;
  secret: Uint8Array;
}

/** Tasks in front of servers that may know none. */
export class Gateway implements AsyncDisposable {
  readonly tasks: Tasks;
  readonly #parts: GatewayParts;
  readonly #slow: SlowTools;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #servers: AnnouncingServer[] = [];
  readonly #connections = new Map<FrontConnection, Set<Lane>>();
  /** Names under which calls are tasks. */
  readonly #asTasks = new Set<string>();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.tasks = parts.tasks;
    const learnt = (): void => this.#announceAll(TOOLS_CHANGED);
    this.#slow = new SlowTools(join(parts.stateFolder, 'slow-tools.json'), parts.logger, learnt);
    for (const config of parts.config.upstreams) this.#upstreams.set(config.name, this.#upstream(config));
  }

  /** Serves Streamable HTTP on a port of its own. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    const server = serveFactory(this.tasks, () => this.#front(), { signals: false, maxRequestBytes: this.#maxBytes });
    this.#servers.push(server);
    return server.listen({ ...this.#parts.config.listen, ...options });
  }

  /** Serves one client over this process's stdin and stdout. */
  stdio(): StdioTaskServer {
    return serveTaskStdio(this.tasks, () => this.#front(), {});
  }

  /** Serves one client on a pair of streams. @param options.upstreams those that it sees. @default all */
  serve(
    streams: { input: Readable; output: Writable },
    { upstreams }: { upstreams?: readonly string[] } = {},
  ): { closed: Promise<void>; close(): Promise<void> } {
    return serveTaskStream(this.tasks, () => this.#front(upstreams), streams);
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #maxBytes(): number {
    return this.#parts.config.limits?.maxRequestBytes ?? 4 * 1024 * 1024;
  }

  #upstream(config: UpstreamConfig): Upstream {
    const { client, clock, logger, secret } = this.#parts;
    return new Upstream(config, {
      client,
      clock,
      logger,
      secret,
      slow: this.#slow,
      reach: (to, authorization): ConnectTarget => reach(to, authorization),
      changed: (lane, method, params) => this.#changed(config.name, lane, method, params),
      asTask: () => {},
    });
  }

  #front(names?: readonly string[]): FrontServer {
    const front: Front = {
      view: (asker) => this.#view(asker, names),
      shownAs: (task) => this.#shownAs(task),
      keyed: (name) => this.#asTasks.has(name),
      left: (connection) => this.#left(connection),
      notified: () => {},
    };
    return new FrontServer(INFO, front);
  }

  /** Of the upstream's name and the tool's, which are what a task is named by. */
  #shownAs(task: string): string | undefined {
    const [name = '', ...tool] = task.split('/');
    const upstream = this.#upstreams.get(name);
    return upstream === undefined ? undefined : upstream.config.prefix + tool.join('/');
  }

  async #view(asker: FrontAsker, names: readonly string[] | undefined): Promise<FrontView> {
    const seen = [...this.#upstreams.values()].filter(({ config }) => names?.includes(config.name) ?? true);
    const behind = await Promise.allSettled(seen.map((upstream) => this.#behind(upstream, asker)));
    const there: Behind[] = [];
    let failed: unknown;
    for (const [index, outcome] of behind.entries()) {
      if (outcome.status === 'fulfilled') there.push(outcome.value);
      else {
        failed = outcome.reason;
        const upstream = seen[index]?.config.name;
        this.#parts.logger.warn({ upstream, error: outcome.reason }, 'an upstream cannot be reached');
      }
    }
    // One of several that is not there is left out; the only one is missed.
    if (there.length === 0 && failed !== undefined)
      throw asRpc(failed, seen.map(({ config }) => config.name).join(', '));
    return viewOf(there);
  }

  async #behind(upstream: Upstream, { caller, era, authorization, connection }: FrontAsker): Promise<Behind> {
    if (authorization !== undefined) upstream.lanes.showed(caller, authorization);
    const lane = await upstream.lane(caller);
    if (connection !== undefined) this.#joins(connection, lane);
    const tools = await upstream.tools(lane, era, caller.askedBy === 'rounds');
    const { subscriptions } = upstream;
    return {
      name: upstream.config.name,
      prefix: upstream.config.prefix,
      lane,
      tools,
      subscribe: (uri, sessionId, call) => subscriptions.subscribe(lane, uri, sessionId, call),
      unsubscribe: (uri, sessionId, call) => subscriptions.unsubscribe(lane, uri, sessionId, call),
    };
  }

  #joins(connection: FrontConnection, lane: Lane): void {
    const lanes = this.#connections.get(connection) ?? new Set();
    if (lanes.has(lane)) return;
    this.#connections.set(connection, lanes.add(lane));
    lane.join(connection);
  }

  #left(connection: FrontConnection): void {
    const sessionId = connection.sessionId();
    for (const lane of this.#connections.get(connection) ?? []) {
      lane.leave(connection);
      for (const { subscriptions } of this.#upstreams.values()) subscriptions.left(lane, sessionId);
    }
    this.#connections.delete(connection);
  }

  /** Something about an upstream changed: whoever sees it is told, if he wants to be. */
  #changed(upstream: string, lane: Lane, method: string, params: Parameters<FrontConnection['notify']>[1]): void {
    const subscriptions = this.#upstreams.get(upstream)?.subscriptions;
    const wants = (sessionId: string): boolean =>
      method !== 'notifications/resources/updated' || subscriptions?.wants(lane, params.uri, sessionId) === true;
    for (const connection of lane.connections) {
      const sessionId = connection.sessionId();
      if (sessionId !== '' && !wants(sessionId)) continue;
      connection.notify(method, params).catch(() => {}); // It is gone, or never asked to be told.
    }
    const { principal } = lane;
    for (const server of this.#servers) {
      server.announce(
        { method, params },
        (channel, sessionId) => channel.principal?.subject === principal.subject && wants(sessionId),
      );
    }
  }

  #announceAll(method: string): void {
    for (const connection of this.#connections.keys()) connection.notify(method, {}).catch(() => {});
    for (const server of this.#servers) server.announce({ method, params: {} }, () => true);
  }

  async #close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.close()));
    await this.tasks.close();
    await this.#parts.client.close();
  }
}

function asRpc(error: unknown, upstream: string): Error {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (Number.isSafeInteger(code)) return error as Error;
  return rpcError({ code: -32_603, message: `${upstream} cannot be reached: ${String(message)}` });
}
