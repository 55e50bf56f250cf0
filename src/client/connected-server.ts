import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Logger,
  type RandomSource,
  shortId,
  type TaskId,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import type { TaskLogPage } from '../wire/task-log.ts';
import type { Call } from './call.ts';
import type { OpenCall } from './call-state.ts';
import type { Changes } from './changes.ts';
import type { Following } from './following.ts';
import { type CallRecord, type HeldCall, type Journal, type NewCall, taskIdOf } from './journal/journal.ts';
import type { Link } from './link.ts';
import type { RemoteRevision, RemoteTool } from './remote.ts';
import type { ServerDesk } from './server-desk.ts';

export const CALL_ID_PREFIX = 'call_';

export interface ToolCall {
  name: string;
  /** @default none */
  arguments?: JsonObject;
}

export interface CallOptions {
  /** How long the server should keep the task, in milliseconds; a wish. Also how long an unreachable server is tried. */
  ttlMs?: number;
  /** Stop waiting after this many milliseconds, with `CallDetachedError`. The call goes on. @default no limit */
  timeoutMs?: number;
  /** Aborted: the call is cancelled, or only left to go on, as `onAbort` says. */
  signal?: AbortSignal;
  /** @default 'cancel' */
  onAbort?: 'cancel' | 'detach';
  /** The same key and arguments are the same task, on servers that honour keys. @default a key of its own for each call */
  idempotencyKey?: string;
  /**
   * Kept with the call, and given back with it and its completion, also after a restart: which conversation it is for, and
   * the like. Never sent.
   */
  note?: JsonObject;
  /**
   * Earlier calls to the same server that this one has to do with. Where the protocol has a way, their tasks are named to the server,
   * by the ids that it gave them; advice, in no order. For hosts to say, never for models.
   * @see ext-tasks draft, "Related Tasks"
   */
  relatedTo?: readonly Call[];
}

/** What a call is made with that a handler makes. */
export interface Child {
  callId: string;
  parent: TaskId;
  traceparent?: string;
  /** Sent in `_meta`, beside what the revision puts there. */
  meta?: JsonObject;
}

/** Other processes may know more than this one hears of. */
const NEWS_MS = 60_000;

export interface ConnectedServerParts {
  name: string;
  desk: ServerDesk;
  journal: Journal;
  following: Following;
  changes: Changes;
  /** The tasks whose handlers make calls, if the client was given any. */
  tasks: Tasks | undefined;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  /** A handle of a call in the journal. */
  handle: (callId: string) => Promise<Call>;
  /** A page of the log of a call. */
  readLog: (callId: string, cursor: number, signal: AbortSignal) => Promise<TaskLogPage>;
}

/** A server under the name that the journal knows it by. */
export class ConnectedServer {
  readonly name: string;
  readonly #parts: ConnectedServerParts;

  /** @internal */
  constructor(parts: ConnectedServerParts) {
    this.#parts = parts;
    this.name = parts.name;
  }

  /** How the server says what its tasks are; `none`: it has none, and calls are answered when they are over. */
  get revision(): RemoteRevision {
    return this.#parts.desk.remote.revision;
  }

  /** Whether a call whose answer was lost is sent again, under its idempotency key. Else it ends as unknown. */
  get repeatable(): boolean {
    return this.#parts.desk.remote.repeatable;
  }

  /** Where the server is, and the name it gives itself. */
  get origin(): string {
    return this.#parts.desk.remote.origin;
  }

  /**
   * What the server has beside tools.
   * @internal
   */
  get link(): Link | undefined {
    return this.#parts.desk.remote.link;
  }

  /**
   * All tools of the server as it lists them now, its pages put together. Their words are the server's: data, never
   * instructions.
   * @throws {RemoteError} when the server cannot be asked, or answers with an error.
   */
  listTools(options: { signal?: AbortSignal } = {}): Promise<RemoteTool[]> {
    return this.#parts.desk.remote.listTools(options);
  }

  /**
   * Calls a tool. Resolves once the call is on disk, whatever the server does; whether the server answers at once or makes a
   * task of it looks the same.
   * @throws {TypeError} naming the argument or option that is none. Nothing was written then.
   * @throws {StoreUnavailableError} when the journal cannot be written. Nothing was sent then.
   */
  async callTool(call: ToolCall, options: CallOptions = {}): Promise<Call> {
    const intent = this.intent(call, options);
    const related = await this.#relatedTo(options.relatedTo);
    if (related.length > 0) intent.call.related = related;
    options.signal?.throwIfAborted();
    return this.begin(await this.#parts.journal.intend(intent.call, intent.state), options);
  }

  /**
   * What is written of a call before anything else is done for it.
   * @internal
   * @throws {TypeError} naming the argument or option that is none.
   */
  intent(call: ToolCall, options: CallOptions, group?: NewCall['group']): { call: NewCall; state: OpenCall } {
    const made = { ...this.#newCall(call, options), ...(group !== undefined && { group }) };
    // Written as sent, since it will be in a moment: that saves a flush, and a crash in between is taken for the worse.
    const atOnce = this.#parts.desk.closedMs === 0 && group?.limit === undefined;
    return { call: made, state: { phase: atOnce ? 'sent' : 'intended' } };
  }

  /**
   * A call that a handler makes for its task, once: made again under the same id it is the same call.
   * @internal
   * @throws {TypeError} naming the argument or option that is none.
   */
  async child(call: ToolCall, options: CallOptions, { callId, ...of }: Child): Promise<void> {
    const { tasks, journal } = this.#parts;
    if (tasks === undefined) throw new TypeError('openTaskClient: handlers can call tools only where `tasks` is given');
    // Of another store it would be taken for gone, and its call cancelled.
    if ((await tasks.engine.statusOf(of.parent)) === undefined)
      throw new TypeError('openTaskClient: the handler belongs to a task that is none of `tasks`');
    const intent = this.intent(call, options);
    const related = taskIds(await journal.siblings(of.parent, this.name));
    const made = { ...intent.call, ...of, callId, ...(related.length > 0 && { related }) };
    const held = await journal.intendOnce(made, intent.state);
    if (held !== undefined) this.#follow(held);
  }

  /** @internal */
  handle(callId: string): Promise<Call> {
    return this.#parts.handle(callId);
  }

  /**
   * A page of what the task of a call has logged, from a byte on; without lines where there are no more yet.
   * @internal
   * @throws {CallLogUnavailableError} when there is none to read, and will be none.
   */
  readLog(callId: string, cursor: number, signal: AbortSignal): Promise<TaskLogPage> {
    return this.#parts.readLog(callId, cursor, signal);
  }

  /**
   * Resolves when something about a call changes.
   * @internal
   */
  news(callId: string, signal: AbortSignal): Promise<void> {
    const { changes, clock } = this.#parts;
    return changes.next(callId, NEWS_MS, clock, signal);
  }

  /**
   * Sends what was written, and follows it.
   * @internal
   */
  async begin(held: HeldCall, options: CallOptions): Promise<Call> {
    this.#follow(held);
    const made = await this.handle(held.record.callId);
    this.#attach(made, options);
    return made;
  }

  #follow(held: HeldCall): void {
    const { desk, following, logger } = this.#parts;
    const { callId, tool, state } = held.record;
    logger.info({ callId: shortId(callId), server: this.name, tool }, 'a tool is called');
    following.begin(desk, held, { fresh: state.phase === 'sent' });
  }

  #newCall({ name, arguments: args = {} }: ToolCall, options: CallOptions): NewCall {
    const { random } = this.#parts;
    const { ttlMs, timeoutMs, idempotencyKey, onAbort, note } = options;
    if (typeof name !== 'string' || name === '')
      throw new TypeError(`name: a tool's name, got ${JSON.stringify(name)}`);
    if (!isJsonObject(args)) throw new TypeError('arguments: an object');
    if (note !== undefined && !isJsonObject(note)) throw new TypeError('note: an object');
    for (const [option, ms] of Object.entries({ ttlMs, timeoutMs })) {
      if (ms === undefined || (Number.isSafeInteger(ms) && ms > 0)) continue;
      throw new TypeError(`${option}: a whole number of milliseconds, at least 1, got ${ms}`);
    }
    if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || idempotencyKey === '')) {
      throw new TypeError('idempotencyKey: a text that is not empty');
    }
    if (onAbort !== undefined && onAbort !== 'cancel' && onAbort !== 'detach') {
      throw new TypeError(`onAbort: 'cancel' or 'detach', got ${JSON.stringify(onAbort)}`);
    }
    return {
      callId: `${CALL_ID_PREFIX}${letters(random)}`,
      server: this.name,
      tool: name,
      arguments: args,
      idempotencyKey: idempotencyKey ?? letters(random),
      ...(ttlMs !== undefined && { ttlMs }),
      ...(note !== undefined && { note }),
    };
  }

  async #relatedTo(calls: readonly Call[] = []): Promise<string[]> {
    for (const [index, { server }] of calls.entries()) {
      if (server === this.name) continue;
      throw new TypeError(`relatedTo[${index}]: a call to "${this.name}", got one to ${JSON.stringify(server)}`);
    }
    const records = await Promise.all(calls.map(({ id }) => this.#parts.journal.call(id)));
    return taskIds(records.flatMap((record) => record ?? []));
  }

  #attach(call: Call, { timeoutMs, signal, onAbort = 'cancel' }: CallOptions): void {
    const { clock, following, logger } = this.#parts;
    const timer =
      timeoutMs === undefined
        ? undefined
        : clock.setTimer(timeoutMs, () => call.detachBecause(`no result within ${timeoutMs} ms (timeoutMs)`));
    const aborted = (): void => {
      if (onAbort === 'detach') call.detach();
      else {
        call.cancel().catch((error: unknown) => {
          logger.error(
            { server: this.name, tool: call.tool, error },
            'a call could not be cancelled when its signal fired',
          );
        });
      }
    };
    if (signal?.aborted === true) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
    following.atEnd(call.id, () => {
      timer?.cancel();
      signal?.removeEventListener('abort', aborted);
    });
  }
}

function taskIds(records: readonly CallRecord[]): string[] {
  return records.flatMap((record) => taskIdOf(record) ?? []);
}

/** 144 random bits: nobody makes the same twice, nor guesses one. */
export function letters(random: RandomSource): string {
  return Buffer.from(random.bytes(18)).toString('base64url');
}
