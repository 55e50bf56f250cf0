import type { Client } from '@modelcontextprotocol/client';
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Logger,
  type RandomSource,
  type RequestorAbilities,
  systemClock,
  systemRandom,
} from '../core/index.ts';
import { hasCompanions } from '../wire/companions.ts';
import { honoursIdempotencyKeys } from '../wire/idempotency.ts';
import { offersTasks } from '../wire/rev2025-11-25/client.ts';
import { REVISION as V25 } from '../wire/rev2025-11-25/index.ts';
import { encodeEnvelope } from '../wire/rev2026-07-28/client.ts';
import { Connection } from './connection.ts';
import { companions } from './dialects/companions.ts';
import type { Dialect, Speaking } from './dialects/dialect.ts';
import { firstDraft } from './dialects/first-draft.ts';
import { plain } from './dialects/plain.ts';
import { sessionTasks } from './dialects/session-tasks.ts';
import { tasksExtension } from './dialects/tasks-extension.ts';
import { hearGeneral, type Link, type LinkLine, type LinkRequest, passOn } from './link.ts';
import { Mirroring } from './mirroring.ts';
import { NumberWatch } from './numbers/number-watch.ts';
import { AskedTasks } from './questions/asked-tasks.ts';
import { answerQuestions, nothingAnswered } from './questions/questions.ts';
import type { OnQuestion, Remote, RemoteTask } from './remote.ts';
import { RemoteGoneError, RemoteUnreachableError } from './remote-errors.ts';
import { ToolSupport } from './tool-support.ts';
import { type Dialled, dial, placeOf, type Whereabouts } from './transports.ts';
import { asRemoteError } from './trouble.ts';

export type ConnectOptions = Whereabouts & RemoteOptions;

export interface RemoteOptions {
  /** What servers are told of who they talk to. @default { name: 'longcall', version: '1' } */
  info?: { name: string; version: string };
  /**
   * Answers what a server asks while a call waits. Without it nothing can be asked before 2026-07-28; from there on, questions
   * of tasks stand in the task.
   */
  onQuestion?: OnQuestion;
  /** What servers are told can be asked. @default forms and pages, if there is an `onQuestion`; else nothing */
  abilities?: RequestorAbilities;
  /** The protocol version to speak; `auto`: the newest that both know. @default 'auto' */
  protocol?: string;
  /**
   * Ask for tasks by the first draft (SEP-1686) in sessions that have none by a later text. Servers that do not know it answer
   * as ever. @default false
   */
  firstDraft?: boolean;
  /** How long an answer may take that a server gives at once (not that to a call), in milliseconds. @default 30000 */
  requestTimeoutMs?: number;
  clock?: Clock;
  random?: RandomSource;
  logger?: Logger;
}

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/**
 * Connects to a server, and finds out how it does tasks. When the connection is lost, the next request makes another, except
 * on a client of yours.
 * @throws {@link RemoteUnreachableError} when it cannot be reached, {@link TypeError} for options that make no sense
 */
export async function connectRemote(options: ConnectOptions): Promise<Remote> {
  const server = new Server(options);
  await server.line();
  return server.remote();
}

/** A connection that is there, and how to speak on it. */
interface Line extends Dialled {
  connection: Connection;
  dialect: Dialect;
  repeatable: boolean;
  name: string | undefined;
  link: LinkLine;
  hangUp: () => void;
}

type GeneralListener = (method: string, params: JsonObject) => void;

interface LogWatcher {
  what: Parameters<NonNullable<Remote['watchLog']>>;
  stop: () => void;
}

interface Watcher {
  taskIds: readonly string[];
  onTask: (task: RemoteTask) => void;
  onPushed: (taskIds: ReadonlySet<string>) => void;
  stop: () => void;
}

class Server {
  readonly #options: ConnectOptions;
  readonly #numbers: NumberWatch;
  #line: Promise<Line> | undefined;
  #opening = false;
  /** The one that was there last: what it said of itself holds until another is. */
  #last: Line | undefined;
  readonly #watchers = new Set<Watcher>();
  readonly #logWatchers = new Set<LogWatcher>();
  readonly #hearers = new Map<GeneralListener, () => void>();
  readonly #reconnected = new Set<() => void>();
  readonly #answered = nothingAnswered();
  /** Questions that are tasks outlive the connection they came on. */
  #asked: AskedTasks | undefined;
  #closed = false;

  constructor(options: ConnectOptions) {
    const ways = ['url', 'command', 'transport', 'client'].filter((name) => name in options);
    if (ways.length !== 1) {
      throw new TypeError(
        `connectRemote: expected one of url, command, transport and client, got ${ways.join(' and ') || 'none'}`,
      );
    }
    this.#options = options;
    const { clock = systemClock, logger = silent } = options;
    this.#numbers = new NumberWatch({ clock, logger, server: placeOf(options) });
  }

  remote(): Remote {
    const last = (): Line => this.#last as Line;
    const on = <Value>(does: (dialect: Dialect) => Promise<Value>): Promise<Value> => this.#on(does);
    const { watch, watchLog, delete: remove, log } = last().dialect;
    return {
      get revision() {
        return last().dialect.revision;
      },
      get repeatable() {
        return last().repeatable;
      },
      get origin() {
        return last().name ?? '';
      },
      link: this.#link(last),
      listTools: (options) => on((dialect) => dialect.listTools(options)),
      start: (request) => on((dialect) => dialect.start(request)),
      get: (taskId, options) => on((dialect) => dialect.get(taskId, options)),
      outcome: (taskId, options) => on((dialect) => dialect.outcome(taskId, options)),
      answer: (taskId, answers) => on((dialect) => dialect.answer(taskId, answers)),
      cancel: (taskId) => on((dialect) => dialect.cancel(taskId)),
      ...(remove !== undefined && { delete: (taskId) => on(async (dialect) => dialect.delete?.(taskId)) }),
      ...(log !== undefined && {
        log: (taskId, cursor, options) => on((dialect) => (dialect.log ?? noLog)(taskId, cursor, options)),
      }),
      ...(watch !== undefined && { watch: (...what) => this.#watch(...what) }),
      ...(watchLog !== undefined && { watchLog: (...what) => this.#watchLog(what) }),
      [Symbol.asyncDispose]: () => this.#close(),
    };
  }

  #link(last: () => Line): Link {
    return {
      get era() {
        return last().link.era;
      },
      get version() {
        return last().link.version;
      },
      get capabilities() {
        const declared: unknown = last().client.getServerCapabilities();
        return isJsonObject(declared) ? declared : {};
      },
      get serverInfo() {
        const info: unknown = last().client.getServerVersion();
        return isJsonObject(info) ? info : undefined;
      },
      get instructions() {
        return last().client.getInstructions();
      },
      request: (method: string, params: JsonObject, options?: LinkRequest) =>
        this.#onLine(({ link }) => passOn(link, method, params, options)),
      notify: (method: string, params: JsonObject) =>
        this.#onLine(({ connection }) => connection.notify(method, params)),
      onNotification: (listener: GeneralListener) => {
        this.#hearers.set(listener, hearGeneral(last().connection, listener));
        return () => {
          this.#hearers.get(listener)?.();
          this.#hearers.delete(listener);
        };
      },
      onReconnect: (listener: () => void) => {
        this.#reconnected.add(listener);
        return () => this.#reconnected.delete(listener);
      },
    };
  }

  async line(): Promise<Line> {
    if (this.#closed) throw new RemoteUnreachableError('closed on this side', { mayHaveRun: false });
    // While another is being made, everybody waits for that one.
    const lost = this.#last?.connection.closed === true && !this.#opening && !('client' in this.#options);
    if (this.#line === undefined || lost) {
      this.#opening = true;
      this.#line = this.#open().finally(() => {
        this.#opening = false;
      });
    }
    const line = this.#line;
    try {
      return await line;
    } catch (error) {
      if (this.#line === line) this.#line = undefined;
      throw error;
    }
  }

  /** Once more on another connection, where the first turned out to be one that its server does not know any more. */
  #on<Value>(does: (dialect: Dialect) => Promise<Value>): Promise<Value> {
    return this.#onLine(({ dialect }) => does(dialect));
  }

  async #onLine<Value>(does: (line: Line) => Promise<Value>): Promise<Value> {
    const line = await this.line();
    try {
      return await does(line);
    } catch (error) {
      const unheard = error instanceof RemoteUnreachableError && !error.mayHaveRun;
      if (!unheard || !line.connection.closed || 'client' in this.#options) throw error;
      return await does(await this.line());
    }
  }

  async #open(): Promise<Line> {
    const { onQuestion, clock = systemClock, random = systemRandom, logger = silent } = this.#options;
    const abilities = this.#options.abilities ?? { form: onQuestion !== undefined, url: onQuestion !== undefined };
    const info = this.#options.info ?? { name: 'longcall', version: '1' };
    const { protocol = 'auto', requestTimeoutMs = 30_000 } = this.#options;
    const dialled = await this.#dial({
      clock,
      client: info,
      abilities,
      asTasks: onQuestion !== undefined,
      protocol,
      timeoutMs: requestTimeoutMs,
      numbers: this.#numbers,
    });
    const { client, transport } = dialled;
    const connection = new Connection(transport, { clock, random, trouble: () => this.#trouble() });
    const capabilities: unknown = client.getServerCapabilities();
    const version = client.getNegotiatedProtocolVersion() ?? '';
    const envelope = encodeEnvelope({ client: info, abilities, tasks: false, version });
    const list = (params: JsonObject): Promise<JsonObject> =>
      connection.request('tools/list', { ...params, _meta: envelope }, { timeoutMs: requestTimeoutMs });
    const speaking: Speaking = {
      connection,
      mirroring: new Mirroring(connection, list),
      capabilities,
      version,
      client: info,
      abilities,
      onQuestion,
      repeatable: honoursIdempotencyKeys(capabilities),
      requestTimeoutMs,
      clock,
      random,
      logger,
    };
    const modern = client.getProtocolEra() === 'modern';
    const hangUp =
      modern || onQuestion === undefined
        ? () => {}
        : answerQuestions(connection, {
            onQuestion,
            asTasks: dialled.own && speaking.version === V25 ? this.#asTasks(onQuestion, speaking) : undefined,
            answered: this.#answered,
            clock,
            random,
            logger,
          });
    const dialect = modern ? tasksExtension(speaking) : await dialectOf(speaking, this.#options.firstDraft ?? false);
    const name = originOf(this.#options, client);
    const link: LinkLine = { ...speaking, era: modern ? 'modern' : 'legacy' };
    const line = { ...dialled, connection, dialect, repeatable: speaking.repeatable, name, link, hangUp };
    const before = this.#last;
    this.#last = line;
    before?.hangUp();
    if (before?.own === true) await before.client.close().catch(() => undefined); // It is closed, or its server gone.
    for (const watcher of this.#watchers) {
      watcher.onPushed(new Set()); // What the connection before was told of, this one need not be.
      this.#follow(watcher, line);
    }
    for (const watcher of this.#logWatchers) {
      watcher.what[2](false);
      this.#followLog(watcher, line);
    }
    for (const listener of this.#hearers.keys()) this.#hearers.set(listener, hearGeneral(connection, listener));
    if (before !== undefined) for (const listener of this.#reconnected) listener();
    return line;
  }

  #asTasks(onQuestion: OnQuestion, { abilities, clock, random, logger }: Speaking): AskedTasks {
    this.#asked ??= new AskedTasks({ onQuestion, abilities, clock, random, logger });
    return this.#asked;
  }

  async #dial(dialling: Parameters<typeof dial>[1]): Promise<Dialled> {
    try {
      return await dial(this.#options, dialling);
    } catch (error) {
      if (error instanceof TypeError && !('cause' in error)) throw error; // Of the options; one of `fetch` has a cause.
      const remote = asRemoteError(error);
      const message = this.#trouble() ?? remote.message;
      throw new RemoteUnreachableError(`${placeOf(this.#options)}: ${message}`, {
        cause: error,
        mayHaveRun: false,
        retryAfterMs: remote instanceof RemoteUnreachableError ? remote.retryAfterMs : undefined,
      });
    }
  }

  #trouble(): string | undefined {
    return 'transport' in this.#options ? this.#options.trouble?.() : undefined;
  }

  #watch(...[taskIds, onTask, onPushed]: Parameters<NonNullable<Remote['watch']>>): () => void {
    const watcher: Watcher = { taskIds, onTask, onPushed, stop: () => {} };
    this.#watchers.add(watcher);
    if (this.#last !== undefined) this.#follow(watcher, this.#last);
    return () => {
      this.#watchers.delete(watcher);
      watcher.stop();
    };
  }

  #follow(watcher: Watcher, { dialect }: Line): void {
    const { taskIds, onTask, onPushed } = watcher;
    watcher.stop();
    watcher.stop = dialect.watch?.(taskIds, onTask, onPushed) ?? (() => {});
  }

  #watchLog(what: LogWatcher['what']): () => void {
    const watcher: LogWatcher = { what, stop: () => {} };
    this.#logWatchers.add(watcher);
    if (this.#last !== undefined) this.#followLog(watcher, this.#last);
    return () => {
      this.#logWatchers.delete(watcher);
      watcher.stop();
    };
  }

  #followLog(watcher: LogWatcher, { dialect }: Line): void {
    watcher.stop();
    watcher.stop = dialect.watchLog?.(...watcher.what) ?? (() => {});
  }

  async #close(): Promise<void> {
    this.#closed = true;
    for (const { stop } of [...this.#watchers, ...this.#logWatchers]) stop();
    this.#watchers.clear();
    this.#logWatchers.clear();
    const line = await this.#line?.catch(() => undefined); // It was told to whoever asked for it.
    line?.hangUp();
    await this.#asked?.close();
    if (line?.own === true) await line.client.close();
  }
}

async function noLog(): Promise<never> {
  throw new RemoteGoneError('the server tells no logs any more');
}

async function dialectOf(speaking: Speaking, drafted: boolean): Promise<Dialect> {
  const offered = speaking.version === V25 ? offersTasks(speaking.capabilities) : 'none';
  if (offered === 'offered') return sessionTasks(speaking);
  if (offered === 'misdeclared') {
    speaking.logger.warn(
      {},
      'the server declares tasks, but not tasks.requests.tools.call: its tools are called without',
    );
  }
  if (drafted) return firstDraft(speaking);
  const tools = new ToolSupport(speaking.connection, speaking.requestTimeoutMs);
  const has = isJsonObject(speaking.capabilities) && isJsonObject(speaking.capabilities.tools);
  return has && hasCompanions(await tools.names()) ? companions(speaking) : plain(speaking);
}

function originOf(where: Whereabouts, client: Client): string {
  const name = client.getServerVersion()?.name;
  return name === undefined ? placeOf(where) : `${placeOf(where)} (${name})`;
}
