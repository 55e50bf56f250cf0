import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { openTaskClient, type TaskClient } from '../client/index.ts';
import {
  type Clock,
  type JsonObject,
  type Logger,
  principalKey,
  type RandomSource,
  systemClock,
  systemRandom,
} from '../core/index.ts';
import { createTasks, type Tasks } from '../engine/index.ts';
import type { Front, FrontAsker, FrontConnection, FrontView } from '../server/front/front.ts';
import { FrontServer } from '../server/front/front-server.ts';
import type { TakeHook } from '../server/hooks.ts';
import type { Listening, ListenOptions, StdioTaskServer } from '../server/index.ts';
import { asThrown } from '../server/rpc-error.ts';
import type { InnerOptions, ListeningClient } from '../server/serving.ts';
import { serveTaskStdio, serveTaskStream } from '../server/stdio.ts';
import { type AnnouncingServer, serveFactory } from '../server/task-server.ts';
import { sqliteStore } from '../store/index.ts';
import { type ClientSeen, ClientsSeen } from './clients-seen.ts';
import type { ConfigChanges } from './config/diff.ts';
import type { GatewayConfig, UpstreamConfig } from './config/types.ts';
import { KnownTools } from './known-tools.ts';
import type { Lane } from './lanes/lane.ts';
import type { LaneUser } from './lanes/lanes.ts';
import { reach } from './lanes/reach.ts';
import { OpenUpstreams } from './open-upstreams.ts';
import { hookTask, httpKind, httpOwnTool } from './own/http-own-tool.ts';
import type { OwnTool } from './own/own-tool.ts';
import { OwnTools } from './own/own-tools.ts';
import { shellKind, shellOwnTool } from './own/shell-own-tool.ts';
import { endStrayJobs } from './own/stray-jobs.ts';
import { type Behind, viewOf } from './relay/view.ts';
import { statusOf, type UpstreamStatus } from './status.ts';
import { TaskTools } from './task-tools.ts';
import { Upstream } from './upstream.ts';
import { ProcessNotes } from './upstreams/orphans.ts';
import { version } from './version.ts';
import { type WrapSpec, wrappedUpstream } from './wrapped.ts';

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

export interface GatewayStatus {
  upstreams: UpstreamStatus[];
  /** Clients that were here since the gateway was opened. */
  clients: ClientSeen[];
  openTasks: number;
}

/** What became of the upstreams, and of the tools of the gateway's own. */
export interface Reloaded extends ConfigChanges {
  tools: ConfigChanges;
}

const INFO = { name: 'longcall-gateway', version: version() };
const TOOLS_CHANGED = 'notifications/tools/list_changed';
const DEFAULT_MAX_REQUEST_BYTES = 4 * 1024 * 1024;
/** How often it is looked for upstreams that are of no use any more. */
const TIDY_MS = 5_000;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Opens the state and goes on with what is in it: tasks that were open are followed as soon as their upstream is reached.
 * @throws {StoreRefusedError} when the state must not be touched, saying why and what to do
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { stateFolder, config, logger = silent, clock = systemClock, random = systemRandom } = options;
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
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
  const taskTools = new TaskTools(tasks);
  const open = await taskTools.open();
  const notes = new ProcessNotes(stateFolder, { clock, logger });
  await notes.endOrphans();
  return new Gateway({ ...options, logger, clock, random, tasks, client, secret, taskTools, open, notes });
}

interface GatewayParts extends Required<GatewayOptions> {
  tasks: Tasks;
  client: TaskClient;
  secret: Uint8Array;
  taskTools: TaskTools;
  notes: ProcessNotes;
  /** Names of tools that had open tasks when the state was opened. */
  open: ReadonlySet<string>;
}

/** Tasks in front of servers that may know none. */
export class Gateway implements AsyncDisposable {
  readonly tasks: Tasks;
  readonly #parts: GatewayParts;
  readonly #known: KnownTools;
  readonly #upstreams: OpenUpstreams;
  readonly #own: OwnTools;
  readonly #clients: ClientsSeen;
  readonly #servers: AnnouncingServer[] = [];
  readonly #connections = new Map<FrontConnection, Set<Lane>>();
  #config: GatewayConfig;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.tasks = parts.tasks;
    this.#config = parts.config;
    this.#clients = new ClientsSeen(parts.clock);
    this.#known = new KnownTools(join(parts.stateFolder, 'tools.json'), parts.logger);
    this.#upstreams = new OpenUpstreams((config) => this.#made(config), parts.logger);
    const { tasks, logger } = parts;
    this.#own = new OwnTools({ tasks, logger, kinds: [shellKind(this.#jobs), httpKind] });
    this.#own.set(this.#ownOf(parts.config));
    this.#own.resume(parts.open);
    void endStrayJobs(this.#jobs, tasks, logger);
    this.#upstreams.set(parts.config.upstreams);
    this.#tidy();
  }

  /** Serves Streamable HTTP on a port of its own. @param options beside what the configuration says */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    const maxRequestBytes = this.#config.limits?.maxRequestBytes ?? DEFAULT_MAX_REQUEST_BYTES;
    const inner: InnerOptions = {
      ...this.#serving(),
      signals: false,
      onListen: (client) => this.#listens(client, this.#upstreams.served),
    };
    const hook: TakeHook = (tool, request) => this.tasks.webhook(hookTask(tool), request);
    const server = serveFactory(this.tasks, () => this.#front(), { ...inner, maxRequestBytes }, hook);
    this.#servers.push(server);
    return server.listen({ ...this.#config.listen, ...options });
  }

  /** Serves one client over this process's stdin and stdout, and closes with it. */
  stdio(): StdioTaskServer {
    const inner: InnerOptions = {
      ...this.#serving(),
      onListen: (client) => this.#listens(client, this.#upstreams.served),
    };
    return serveTaskStdio(this.tasks, () => this.#front(), inner);
  }

  /** Serves one client on a pair of streams. @param options.upstreams those that it sees. @default all */
  serve(
    streams: { input: Readable; output: Writable },
    { upstreams }: { upstreams?: readonly string[] } = {},
  ): { closed: Promise<void>; close(): Promise<void> } {
    const inner: InnerOptions = {
      ...this.#serving(),
      onListen: (client) => this.#listens(client, this.#seen(upstreams)),
    };
    return serveTaskStream(this.tasks, () => this.#front(upstreams), streams, inner);
  }

  /** Serves what this says from now on. Tasks that were begun go on as they were begun. */
  async reload(config: GatewayConfig): Promise<Reloaded> {
    this.#config = config;
    const done = { ...this.#upstreams.set(config.upstreams), tools: this.#own.set(this.#ownOf(config)) };
    const differs = ({ added, removed, changed }: ConfigChanges): boolean => {
      return added.length + removed.length + changed.length > 0;
    };
    if (differs(done) || differs(done.tools)) this.#announceAll(TOOLS_CHANGED);
    await this.#endUnused();
    return done;
  }

  /**
   * Serves one more upstream, or the same once more, until `release`; it stays as long as anything is open with it.
   * @throws {TypeError} when there is another one of that name
   */
  use(upstream: UpstreamConfig): { release(): void } {
    return { release: this.#upstreams.use(upstream) };
  }

  /** Serves a server that was given no name, as {@link use}. @returns the name that it has */
  wrap(spec: WrapSpec): { name: string; release(): void } {
    const upstream = wrappedUpstream(spec, this.#parts.secret);
    return { name: upstream.name, release: this.#upstreams.use(upstream) };
  }

  /** Whether there is anything that would be left alone if this ended now. */
  async busy(): Promise<boolean> {
    if (this.#upstreams.all.some((upstream) => this.#isOpen(upstream))) return true;
    const open = [...(await this.#parts.taskTools.open())];
    if (open.some((name) => this.#own.owns(name))) return true;
    return this.#upstreams.all.some((upstream) => open.some((name) => upstream.shownAs(name) !== undefined));
  }

  async status(): Promise<GatewayStatus> {
    const { byStatus } = await this.tasks.inspect.counts();
    return {
      upstreams: this.#upstreams.all.map((upstream) => statusOf(upstream, this.#parts.client)),
      clients: this.#clients.seen,
      openTasks: byStatus.working + byStatus.input_required,
    };
  }

  /** Stops serving, hands back what runs, and ends upstreams. Tasks and calls stay, and go on with the next one. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #made(config: UpstreamConfig): Upstream {
    const { client, clock, random, logger, secret, taskTools, open, notes } = this.#parts;
    const upstream = new Upstream(config, {
      client,
      clock,
      logger,
      secret,
      taskTools,
      known: this.#known,
      reach: (to, authorization) => reach(to, authorization, { clock, random, logger, notes }),
      changed: (lane, method, params) => this.#changed(upstream, lane, method, params),
      relisted: () => this.#announceAll(TOOLS_CHANGED),
    });
    upstream.resume(open);
    return upstream;
  }

  /** Where the jobs of its own tools are. */
  get #jobs(): string {
    return resolve(this.#parts.stateFolder, 'jobs');
  }

  #ownOf({ shell = [], http = [] }: GatewayConfig): OwnTool[] {
    return [
      ...shell.map((config) => shellOwnTool(config, this.#jobs)),
      ...http.map((config) => httpOwnTool(config, this.#parts.clock)),
    ];
  }

  #serving(): Pick<InnerOptions, 'firstDraft' | 'inlineWithinMs'> {
    return {
      firstDraft: this.#config.firstDraft ?? false,
      inlineWithinMs: this.#config.inlineWithinMs ?? 0,
    };
  }

  #front(names?: readonly string[]): FrontServer {
    const seen = (): readonly Upstream[] => this.#seen(names);
    const own = names === undefined ? this.#own : undefined; // Who sees some upstreams sees nothing else.
    const front: Front = {
      view: (asker) => this.#view(asker, seen(), own),
      shownAs: (task) => own?.shownAs(task) ?? seen().flatMap((upstream) => upstream.shownAs(task) ?? [])[0],
      keyed: (name) => own?.has(name) === true || seen().some((upstream) => upstream.keyed(name)),
      left: (connection) => this.#left(connection),
      notified: (method, caller) => {
        for (const upstream of seen()) upstream.lanes.tell(caller, method);
      },
    };
    return new FrontServer(INFO, front);
  }

  #seen(names: readonly string[] | undefined): readonly Upstream[] {
    return names === undefined ? this.#upstreams.served : names.flatMap((name) => this.#upstreams.get(name) ?? []);
  }

  /** From 2026-07-28 on nobody subscribes: who listens says to what, and whoever has it is to tell. */
  #listens({ uris, ...user }: ListeningClient, seen: readonly Upstream[]): () => void {
    if (uris.length === 0) return () => {};
    const listener = randomUUID();
    const left = seen.map((upstream) => this.#listensTo(upstream, user, uris, listener));
    return () => {
      for (const leave of left) leave();
    };
  }

  #listensTo(
    { lanes, subscriptions, config }: Upstream,
    user: LaneUser,
    uris: readonly string[],
    listener: string,
  ): () => void {
    const { logger } = this.#parts;
    const failed = (error: unknown): void => {
      // Which of several upstreams has a resource is nowhere said: those that do not have it refuse.
      logger.debug({ upstream: config.name, error }, 'an upstream does not tell of a resource');
    };
    const began = lanes.get(user).then(async (lane) => {
      lane.listen(listener);
      await Promise.all(uris.map((uri) => subscriptions.subscribe(lane, uri, listener).catch(failed)));
      return lane;
    });
    began.catch(failed);
    const leave = async (lane: Lane): Promise<void> => {
      lane.unlisten(listener);
      await Promise.all(uris.map((uri) => subscriptions.unsubscribe(lane, uri, listener).catch(failed)));
    };
    return () => void began.then(leave, () => {}); // Told when it began.
  }

  async #view(asker: FrontAsker, seen: readonly Upstream[], own: OwnTools | undefined): Promise<FrontView> {
    this.#clients.saw(asker);
    const looks = await Promise.allSettled(seen.map((upstream) => this.#behind(upstream, asker)));
    const there: Behind[] = [];
    let failed: unknown;
    for (const [index, look] of looks.entries()) {
      if (look.status === 'fulfilled') there.push(look.value);
      else {
        failed = look.reason;
        const upstream = seen[index]?.config.name;
        this.#parts.logger.warn({ upstream, error: look.reason }, 'an upstream cannot be reached');
      }
    }
    const alone = own?.some !== true;
    // One of several that is not there is left out; the only one is missed.
    if (there.length === 0 && failed !== undefined && alone) throw unreachable(failed, seen);
    const view = viewOf(there, { single: seen.length === 1 && alone });
    return own === undefined ? view : { ...view, tools: own.beside(view.tools) };
  }

  async #behind(upstream: Upstream, asker: FrontAsker): Promise<Behind> {
    const { caller, authorization, connection } = asker;
    if (authorization !== undefined) upstream.lanes.showed(caller, authorization);
    const lane = await upstream.lanes.get(caller);
    if (connection !== undefined) this.#joins(connection, lane);
    const { subscriptions, config } = upstream;
    return {
      name: config.name,
      prefix: config.prefix,
      lane,
      tools: await upstream.tools(lane, asker),
      subscribe: (uri, sessionId) => subscriptions.subscribe(lane, uri, sessionId),
      unsubscribe: (uri, sessionId) => subscriptions.unsubscribe(lane, uri, sessionId),
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
      for (const { subscriptions } of this.#upstreams.all) subscriptions.left(lane, sessionId);
    }
    this.#connections.delete(connection);
  }

  /** Something about an upstream changed: whoever sees it is told, if he wants to be. */
  #changed({ subscriptions }: Upstream, lane: Lane, method: string, params: JsonObject): void {
    const wants = (sessionId: string): boolean =>
      method !== 'notifications/resources/updated' || subscriptions.wants(lane, params.uri, sessionId);
    for (const connection of lane.connections) {
      const sessionId = connection.sessionId();
      if (sessionId !== '' && !wants(sessionId)) continue;
      connection.notify(method, params).catch(() => {}); // It is gone, or did not ask to be told.
    }
    const mine = principalKey(lane.principal);
    for (const server of this.#servers) {
      server.announce({ method, params }, ({ principal }, sessionId) => {
        return principal !== undefined && principalKey(principal) === mine && wants(sessionId);
      });
    }
  }

  /** Calls of upstreams that have no tasks end with their connection; the others are found again. */
  get #hasWorkOfItsOwn(): boolean {
    const lanes = this.#upstreams.all.flatMap((upstream) => upstream.lanes.open);
    return lanes.some(({ name, server }) => server.revision === 'none' && this.#parts.client.followed(name) > 0);
  }

  #announceAll(method: string): void {
    for (const connection of this.#connections.keys()) connection.notify(method, {}).catch(() => {}); // As above.
    for (const server of this.#servers) server.announce({ method, params: {} }, () => true);
  }

  #isOpen({ lanes }: Upstream): boolean {
    return lanes.open.some((lane) => lane.busy || this.#parts.client.followed(lane.name) > 0);
  }

  async #endUnused(): Promise<void> {
    await this.#upstreams.endUnused((upstream) => this.#isOpen(upstream));
  }

  #tidy(): void {
    const { clock, logger } = this.#parts;
    clock.setTimer(TIDY_MS, () => {
      if (this.#closing !== undefined) return;
      this.#endUnused()
        .catch((error: unknown) => logger.error({ error }, 'upstreams could not be looked through'))
        .finally(() => this.#tidy());
    });
  }

  async #close(): Promise<void> {
    const how = this.#hasWorkOfItsOwn ? {} : { drainMs: 0 };
    await Promise.all(this.#servers.map((server) => server.close(how)));
    await this.tasks.close(how);
    await this.#upstreams.close();
    await this.#parts.client.close();
    await this.#known.kept();
  }
}

function unreachable(error: unknown, seen: readonly Upstream[]): Error {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (Number.isSafeInteger(code)) return error as Error;
  const names = seen.map(({ config }) => config.name).join(', ');
  return asThrown({ code: -32_603, message: `${names}: cannot be reached: ${String(message)}` });
}
