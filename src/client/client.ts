import {
  type Answer,
  type Clock,
  DEFAULTS,
  type JsonObject,
  type Logger,
  type RandomSource,
  systemClock,
  systemRandom,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { Call, type CallSource } from './call.ts';
import { CallRemains } from './call-remains.ts';
import { Changes } from './changes.ts';
import { Parents } from './children/parents.ts';
import { type ConnectOptions, connectRemote } from './connect-remote.ts';
import { CALL_ID_PREFIX, ConnectedServer } from './connected-server.ts';
import { CallAmbiguousError, CallAnswerInvalidError, CallNotFoundError, ClientClosedError } from './errors.ts';
import { Following } from './following.ts';
import type { CallGroup, ResultsOptions } from './groups/group.ts';
import { GroupCalls, type GroupedCall, type GroupOptions } from './groups/group-calls.ts';
import { firstResult, type RaceWon } from './groups/race.ts';
import { type Completion, inbox } from './inbox.ts';
import { type CallRecord, Journal } from './journal/journal.ts';
import { OtherProcesses } from './other-processes.ts';
import { POLL_LIMITS } from './poll-delay.ts';
import { AskedOnTheWay } from './questions/asked-on-the-way.ts';
import { misfit } from './questions/misfit.ts';
import type { OnQuestion, Remote } from './remote.ts';
import { ServerDesk } from './server-desk.ts';
import { type CallSnapshot, snapshotOf } from './snapshot.ts';
import { ClientUpkeep } from './upkeep.ts';

export interface TaskClientOptions {
  /** The file that calls are kept in (made with mode 0600 if there is none), or `':memory:'`. */
  journal: string;
  /** @default the machine's */
  clock?: Clock;
  /** @default the machine's */
  random?: RandomSource;
  /** @default says nothing */
  logger?: Logger;
  /** Never ask about one task more often than this, in milliseconds, whatever its server says. @default 500 */
  minPollMs?: number;
  /** Never wait longer than this between two polls, in milliseconds, whatever the server says. @default 3600000 */
  maxPollMs?: number;
  /**
   * A task that works and says nothing new for this long, in milliseconds, is shown as silent (`silentSince`), and warned of in the
   * log. Nothing is done to it. @default 600000
   */
  stuckAfterMs?: number;
  /** How many requests about tasks may be on their way to one server at once. @default 8 */
  maxInFlight?: number;
  /**
   * The tasks whose handlers call tools of this client's servers (`callTool`): such a call is cancelled with its task, and its end
   * wakes the task.
   */
  tasks?: Tasks;
  /** How long an acknowledged call stays readable, in milliseconds. @default 86400000 */
  keepAcknowledgedMs?: number;
}

/** Where a server is, or a connection to it that you make yourself; it is closed with the client. */
export type ConnectTarget =
  | (ConnectOptions & Shared)
  | ({
      remote: () => Remote | Promise<Remote>;
      /** Answers what tasks ask. Without it a call that asks waits, shows what for, and takes `call.answer`. */
      onQuestion?: OnQuestion;
    } & Shared);

interface Shared {
  /**
   * All calls are one caller's, so that a question that says not which of them it belongs to can be put to the newest.
   * @internal
   */
  oneCaller?: boolean;
}

export interface ListCallsOptions {
  /** Only calls that are not over. @default false */
  open?: boolean;
  /** How many at most: 1 to 1000. @default 50 */
  limit?: number;
  /** The id of a call: only those made before it. */
  before?: string;
}

export interface Resumed {
  /** Open calls that are followed: here, or by another process on the journal. */
  following: Call[];
  /** Open calls that wait for a server to be connected under the name they were made with. */
  waiting: Call[];
}

type FullOptions = TaskClientOptions & { clock: Clock; random: RandomSource; logger: Logger };

const STUCK_AFTER_MS = 600_000;
/** A question that nobody is there to answer stands in its call, and waits. */
const EVERY_FORM = { form: true, url: true };
const REQUEST_TIMEOUT_MS = 60_000;
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Opens the journal and goes on with what is in it: open calls are followed as soon as their server is connected.
 * @throws {TypeError} naming the option that is none.
 * @throws {StoreRefusedError} when the journal must not be touched, saying why and what to do.
 */
export async function openTaskClient(options: TaskClientOptions): Promise<TaskClient> {
  const { journal: path, clock = systemClock, random = systemRandom, logger = silent } = options;
  if (typeof path !== 'string' || path.trim() === '') {
    throw new TypeError(`journal: a file name or ':memory:', got ${JSON.stringify(path)}`);
  }
  for (const option of ['minPollMs', 'maxPollMs', 'stuckAfterMs', 'maxInFlight', 'keepAcknowledgedMs'] as const) {
    const value = options[option];
    if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue;
    throw new TypeError(`${option}: a whole number, at least 1, got ${value}`);
  }
  const journal = await Journal.open(path, { clock, random, logger });
  const others = new OtherProcesses(journal, clock);
  await others.look(); // What the dead left is there to be taken as soon as a server is connected.
  return new TaskClient(journal, others, { ...options, clock, random, logger });
}

/** What the rest of the client's room works with, and nobody outside. */
export interface ClientParts {
  journal: Journal;
  changes: Changes;
  clock: Clock;
  logger: Logger;
  /** Those that are connected, in that order. */
  servers: ReadonlyMap<string, ConnectedServer>;
}

export let partsOf: (client: TaskClient) => ClientParts;

/** Calls tools of any number of servers, and remembers every call until its end was taken in. */
export class TaskClient implements AsyncDisposable {
  readonly #journal: Journal;
  readonly #options: FullOptions;
  readonly #changes = new Changes();
  readonly #following: Following;
  readonly #parents: Parents | undefined;
  readonly #upkeep: ClientUpkeep;
  readonly #desks = new Map<string, ServerDesk>();
  readonly #servers = new Map<string, ConnectedServer>();
  readonly #connecting = new Set<string>();
  readonly #source: CallSource;
  readonly #groups: GroupCalls;
  readonly #remains: CallRemains;
  #closing: Promise<void> | undefined;

  static {
    partsOf = (client) => {
      client.#assertOpen();
      const { clock, logger } = client.#options;
      return { journal: client.#journal, changes: client.#changes, clock, logger, servers: client.#servers };
    };
  }

  /** @internal */
  constructor(journal: Journal, others: OtherProcesses, options: FullOptions) {
    this.#journal = journal;
    this.#options = options;
    const { clock, random, logger, tasks, keepAcknowledgedMs = DEFAULTS.keepResultMs } = options;
    const { minPollMs = POLL_LIMITS.minPollMs, maxPollMs = POLL_LIMITS.maxPollMs } = options;
    const parts = { journal, changes: this.#changes, clock, random, logger };
    const limits = { minPollMs, maxPollMs, stuckAfterMs: options.stuckAfterMs ?? STUCK_AFTER_MS };
    const cancel = (callId: string): Promise<void> => this.#cancel(callId);
    this.#parents = tasks && new Parents({ tasks, journal, clock, logger, cancel });
    this.#following = new Following({ ...parts, limits, giveUpMs: DEFAULTS.ttlMs, parents: this.#parents });
    this.#upkeep = new ClientUpkeep({
      ...parts,
      others,
      following: this.#following,
      keepAcknowledgedMs,
      takeInLeftOvers: async () => this.#parents?.takeInLeftOvers(),
      takeOver: () => this.#takeOver([...this.#desks.keys()]),
    });
    this.#remains = new CallRemains({ journal, changes: this.#changes, desks: this.#desks });
    this.#groups = new GroupCalls({
      journal,
      changes: this.#changes,
      servers: this.#servers,
      random,
      handle: (record) => this.#callOf(record),
    });
    this.#source = {
      changes: this.#changes,
      look: (callId) => this.#look(callId),
      cancel: (callId) => this.#cancel(callId),
      answer: (callId, key, answer) => this.#answer(callId, key, answer),
      acknowledge: (callId) => this.acknowledge(callId),
      delete: (callId) => this.#remains.delete(callId),
      log: (callId) => ({
        clock,
        look: () => this.#look(callId),
        read: (cursor, signal) => this.#remains.readLog(callId, cursor, signal),
        listen: () => this.#changes.listen(callId, clock),
        watch: (onNews, onTold) => this.#remains.watchLog(callId, onNews, onTold),
      }),
    };
  }

  /**
   * Connects a server. The journal keeps its name with every call, and neither its address nor credentials: open calls under
   * this name are followed from now on.
   * @param name how the journal knows the server; keep it from start to start
   * @throws {TypeError} when the name is none, or connected already.
   * @throws what making the connection throws.
   */
  async connect(name: string, target: ConnectTarget): Promise<ConnectedServer> {
    this.#assertOpen();
    if (typeof name !== 'string' || name.trim() === '')
      throw new TypeError(`name: a text, got ${JSON.stringify(name)}`);
    if (this.#desks.has(name) || this.#connecting.has(name))
      throw new TypeError(`name: "${name}" is connected already`);
    this.#connecting.add(name);
    try {
      const { clock, random, logger, maxInFlight = 8 } = this.#options;
      const { onQuestion: handler, oneCaller = false } = target;
      const { ask } = new AskedOnTheWay({
        server: name,
        journal: this.#journal,
        changes: this.#changes,
        following: this.#following,
        handler,
        oneCaller,
      });
      const remote = await ('remote' in target
        ? target.remote()
        : connectRemote({ clock, random, logger, abilities: EVERY_FORM, ...target, onQuestion: ask }));
      if (this.#closing !== undefined) {
        await remote[Symbol.asyncDispose]();
        throw new ClientClosedError();
      }
      const desk = new ServerDesk(remote, handler && ask, clock, {
        maxInFlight,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
      });
      this.#desks.set(name, desk);
      await this.#takeOver([name]);
      const server = new ConnectedServer({
        name,
        desk,
        journal: this.#journal,
        following: this.#following,
        changes: this.#changes,
        tasks: this.#options.tasks,
        clock,
        random,
        logger,
        handle: (callId) => this.call(callId),
        readLog: (callId, cursor, signal) => this.#remains.readLog(callId, cursor, signal),
      });
      this.#servers.set(name, server);
      return server;
    } finally {
      this.#connecting.delete(name);
    }
  }

  /**
   * How many calls to a server are followed here.
   * @internal
   */
  followed(name: string): number {
    return this.#following.count(name);
  }

  /**
   * Ends the connection to a server. Its open calls stay in the journal, and are followed again once a server is connected under
   * the name.
   * @internal
   */
  async disconnect(name: string): Promise<void> {
    const desk = this.#desks.get(name);
    if (desk === undefined) return;
    this.#desks.delete(name);
    this.#servers.delete(name);
    await this.#following.stop(({ record }) => record.server === name);
    await this.#journal.letGo(name);
    desk.close();
    await desk.remote[Symbol.asyncDispose]();
  }

  /**
   * A call in the journal, by its id.
   * @throws {CallNotFoundError} when there is none: it never was, or was acknowledged and forgotten.
   */
  async call(callId: string): Promise<Call> {
    this.#assertOpen();
    return new Call(this.#source, await this.#look(callId));
  }

  /**
   * A call whose id begins so, with or without the `call_` that all begin with.
   * @throws {CallNotFoundError} when there is none.
   * @throws {CallAmbiguousError} when there are more.
   */
  async find(beginning: string): Promise<Call> {
    this.#assertOpen();
    const prefix = beginning.startsWith(CALL_ID_PREFIX) ? beginning : `${CALL_ID_PREFIX}${beginning}`;
    const [callId, another] = beginning === '' ? [] : await this.#journal.beginning(prefix);
    if (callId === undefined) throw new CallNotFoundError(beginning);
    if (another !== undefined && callId !== prefix) throw new CallAmbiguousError(beginning);
    return this.call(callId);
  }

  /**
   * Calls in the journal, newest first: open ones, those that ended, and those acknowledged not long ago.
   * @throws {RangeError} when `limit` is out of bounds: from 1 to 1000.
   */
  async calls({ open = false, limit = 50, before }: ListCallsOptions = {}): Promise<Call[]> {
    this.#assertOpen();
    if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
      throw new RangeError(`limit: a whole number from 1 to 1000, got ${limit}`);
    const records = await this.#journal.calls({ open, limit, ...(before !== undefined && { before }) });
    const looks = await Promise.allSettled(records.map(({ callId }) => this.call(callId)));
    return looks.flatMap((look) => {
      if (look.status === 'fulfilled') return [look.value];
      if (look.reason instanceof CallNotFoundError) return []; // Forgotten between the two.
      throw look.reason;
    });
  }

  /**
   * Makes several calls. Resolves once all of them are on disk, or none is: what still waits for its turn when the process ends
   * is sent by the next one, as many at once as before.
   * @throws {TypeError} naming the call and what of it is wrong. Nothing was written then.
   * @throws {StoreUnavailableError} when the journal cannot be written. Nothing was sent then.
   */
  async callAll(calls: Iterable<GroupedCall>, options: GroupOptions = {}): Promise<CallGroup> {
    this.#assertOpen();
    return this.#groups.make(calls, options);
  }

  /**
   * The calls that `callAll` made together, by the id of their group; also after a restart. Without those that were acknowledged and
   * forgotten.
   * @throws {CallNotFoundError} when there is none.
   */
  async group(groupId: string): Promise<CallGroup> {
    this.#assertOpen();
    return this.#groups.made(groupId);
  }

  /**
   * The results of several calls, in their order: calls to be made, calls made before, or both.
   * @throws the error of the first call that ends without a result. The others go on, unless `cancelRest`.
   */
  async all(calls: Iterable<Call | GroupedCall>, options: GroupOptions & ResultsOptions = {}): Promise<JsonObject[]> {
    return (await this.#groups.together(calls, options)).results(options);
  }

  /**
   * The first of several calls that ends with a result; one with `isError` wins only when no other does better. The others are
   * cancelled, unless `losers` is `'leave'`.
   * @throws {AggregateError} when none ends with a result.
   */
  async race(
    calls: Iterable<Call | GroupedCall>,
    options: GroupOptions & { losers?: 'cancel' | 'leave' } = {},
  ): Promise<RaceWon> {
    const { concurrency = Number.POSITIVE_INFINITY, losers = 'cancel' } = options;
    return firstResult(await this.#groups.together(calls, { ...options, concurrency }), losers);
  }

  /** All open calls in the journal, by whether somebody follows them or they wait for their server. Oldest first. */
  async resume(): Promise<Resumed> {
    this.#assertOpen();
    const resumed: Resumed = { following: [], waiting: [] };
    for (const record of await this.#journal.openCalls()) {
      const call = this.#callOf(record);
      if (record.followed) resumed.following.push(call);
      else resumed.waiting.push(call);
    }
    return resumed;
  }

  /**
   * Calls that ended and were not acknowledged, oldest first, then others as they end; it ends with the signal. Every
   * completion comes at least once, also after a crash, and never again once it is acknowledged. Whoever waits here keeps
   * the process alive.
   * @throws {ClientClosedError} when the client is closed.
   */
  inbox({ signal }: { signal?: AbortSignal } = {}): AsyncGenerator<Completion, void, undefined> {
    this.#assertOpen();
    return inbox(this.#journal, this.#changes, (callId) => this.acknowledge(callId), signal);
  }

  /** Resolves once it is on disk that the end of a call was taken in. Does nothing before there is one. */
  async acknowledge(callId: string): Promise<void> {
    await this.#journal.acknowledge(callId);
  }

  /** Stops following and closes connections and journal. Calls stay in the journal; nothing is cancelled. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#upkeep.stop();
    this.#parents?.stop();
    await this.#following.stop();
    this.#changes.close();
    const desks = [...this.#desks.values()];
    for (const desk of desks) desk.close();
    const closed = await Promise.allSettled(desks.map(({ remote }) => remote[Symbol.asyncDispose]()));
    await this.#journal.close();
    for (const outcome of closed) {
      if (outcome.status === 'rejected') {
        this.#options.logger.warn({ error: outcome.reason }, 'the connection to a server could not be closed');
      }
    }
  }

  #callOf(record: CallRecord): Call {
    return new Call(this.#source, snapshotOf(record, record.state));
  }

  async #takeOver(servers: readonly string[]): Promise<void> {
    for (const name of servers) {
      const desk = this.#desks.get(name);
      if (desk === undefined) continue;
      for (;;) {
        const taken = await this.#journal.take(name);
        if (taken.length === 0) break;
        for (const held of taken) this.#following.begin(desk, held, { fresh: false });
      }
    }
  }

  async #look(callId: string): Promise<CallSnapshot> {
    const run = this.#following.get(callId);
    if (run !== undefined)
      return snapshotOf({ ...run.record, cancelRequested: run.cancelRequested }, run.state, run.live);
    const record = await this.#journal.call(callId);
    if (record === undefined) throw new CallNotFoundError(callId);
    if (record.state.phase !== 'ended') return snapshotOf(record, record.state);
    const ending = await this.#journal.ending(callId);
    if (ending === undefined) throw new CallNotFoundError(callId); // Forgotten between the two.
    return snapshotOf(record, { phase: 'ended', end: ending.end });
  }

  async #cancel(callId: string): Promise<void> {
    if (!(await this.#journal.requestCancel(callId))) return;
    this.#following.get(callId)?.requestCancel();
    this.#changes.ofCall(callId);
  }

  async #answer(callId: string, key: string, answer: Answer): Promise<boolean> {
    const question = this.#following.get(callId)?.live.questions?.get(key);
    const problem = question && misfit(question, answer);
    if (problem !== undefined) throw new CallAnswerInvalidError(callId, key, problem);
    const recorded = await this.#journal.answer(callId, key, answer);
    if (!recorded) return false;
    this.#following.get(callId)?.sendAnswers();
    this.#changes.ofCall(callId);
    return true;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClientClosedError();
  }
}
