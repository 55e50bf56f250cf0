import {
  isTerminal,
  LimitExceededError,
  type Principal,
  pollIntervalMs,
  type TaskId,
  type TaskRecord,
  type Timer,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { type EncodeOptions, encodeResourceUpdated, keptToken } from '../wire/rev2025-11-25/index.ts';
import { wordsFor } from '../wire/words.ts';
import { tellOfLog, tellOfTask } from './log-news.ts';
import type { QuestionDesk, Stream } from './questions.ts';
import type { Subscribable } from './task-uris.ts';
import type { ToldProgress } from './told-progress.ts';

/** Of sessions that do not listen, this many are remembered, the latest; others still find out by asking. */
const MAX_SILENT = 1_000;
/** Of the tasks such a session started, this many. */
const MAX_TASKS = 100;
/** Resources that a session may subscribe to. */
const MAX_SUBSCRIPTIONS = 1_000;

/** Where a session listens. */
export interface Channel extends Stream {
  /** Resolves when another message would be read soon; where there is none, it always would. */
  room?(): Promise<void>;
  /** Ends it: the session listens elsewhere, or is over. */
  end?(): void;
  /** Who listens, where that is known. */
  principal?: Principal | undefined;
  /** Whether it is this principal who listens. @default whoever has a task in the session */
  hears?(principal: Principal): boolean;
}

interface Followed {
  principal: Principal;
  /** What the session knows of the task. */
  seen: string;
}

/** A resource of a task that a session has subscribed to. */
export interface Subscribed extends Subscribable {
  principal: Principal;
}

interface Session {
  tasks: Map<TaskId, Followed>;
  /** By URI. */
  subscriptions: Map<string, Subscribed & { ended: AbortController }>;
  listening: { channel: Channel; patient: boolean; ended: AbortController } | undefined;
}

/**
 * Tells sessions of 2025-11-25 about the tasks they started, on whatever channel they keep open: every change of status,
 * and questions and progress that nobody comes to fetch. Nothing here is relied on; it is in memory, and a client may always ask.
 */
export class Followers {
  readonly #tasks: Tasks;
  readonly #desk: QuestionDesk;
  readonly #told: ToldProgress;
  readonly #wording: EncodeOptions;
  readonly #sessions = new Map<string, Session>();
  /** Ids of sessions that do not listen, those longest unused first. */
  readonly #silent = new Set<string>();

  constructor(tasks: Tasks, desk: QuestionDesk, told: ToldProgress, wording: EncodeOptions) {
    this.#tasks = tasks;
    this.#desk = desk;
    this.#told = told;
    this.#wording = wording;
  }

  /** How many sessions are remembered. */
  get size(): number {
    return this.#sessions.size;
  }

  /** The session started this task, and knows it as it is in the record. */
  follow(sessionId: string, task: TaskRecord): void {
    const session = this.#session(sessionId);
    const followed = { principal: task.principal, seen: seenOf(task) };
    session.tasks.set(task.taskId, followed);
    if (session.listening !== undefined) this.#tell(sessionId, session, task.taskId, followed);
    else this.#fellSilent(sessionId, session);
  }

  /**
   * The session listens here from now on, and nowhere else.
   * @param options `patient`: questions go out only if nobody fetches them; else at once
   * @returns the function that ends it
   */
  open(sessionId: string, channel: Channel, { patient }: { patient: boolean }): () => void {
    const session = this.#session(sessionId);
    const before = session.listening;
    const listening = { channel, patient, ended: new AbortController() };
    session.listening = listening;
    this.#silent.delete(sessionId);
    before?.ended.abort();
    before?.channel.end?.();
    for (const [taskId, followed] of session.tasks) this.#tell(sessionId, session, taskId, followed);
    for (const uri of session.subscriptions.keys()) this.#tellOf(session, uri);
    return () => {
      listening.ended.abort();
      if (session.listening !== listening) return;
      session.listening = undefined;
      this.#fellSilent(sessionId, session);
    };
  }

  /**
   * The session is told of a resource wherever it listens, at first and whenever it changes.
   * @throws {LimitExceededError} when it has subscribed to too many.
   */
  subscribe(sessionId: string, uri: string, subscribed: Subscribed): void {
    const session = this.#session(sessionId);
    const { subscriptions } = session;
    if (!subscriptions.has(uri) && subscriptions.size >= MAX_SUBSCRIPTIONS) {
      throw new LimitExceededError(`a session subscribes to at most ${MAX_SUBSCRIPTIONS} resources; end some first`);
    }
    subscriptions.get(uri)?.ended.abort();
    subscriptions.set(uri, { ...subscribed, ended: new AbortController() });
    if (session.listening !== undefined) this.#tellOf(session, uri);
    else this.#fellSilent(sessionId, session);
  }

  unsubscribe(sessionId: string, uri: string): void {
    const subscriptions = this.#sessions.get(sessionId)?.subscriptions;
    subscriptions?.get(uri)?.ended.abort();
    subscriptions?.delete(uri);
  }

  /** Tells whoever listens, of those that `to` picks, something that is about no task. */
  tell(message: object, to: (channel: Channel, sessionId: string) => boolean): void {
    for (const [sessionId, { listening }] of this.#sessions) {
      if (listening === undefined || !to(listening.channel, sessionId)) continue;
      listening.channel.send(message).catch((error: unknown) => {
        this.#tasks.logger.debug({ error }, 'a session could not be told that something changed');
      });
    }
  }

  /** The session is over; its tasks go on. */
  end(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    this.#silent.delete(sessionId);
    if (session?.listening === undefined) return;
    const { ended, channel } = session.listening;
    session.listening = undefined;
    ended.abort();
    channel.end?.();
  }

  /** Ends all channels. */
  close(): void {
    for (const sessionId of [...this.#sessions.keys()]) this.end(sessionId);
  }

  #session(sessionId: string): Session {
    const session: Session = this.#sessions.get(sessionId) ?? {
      tasks: new Map(),
      subscriptions: new Map(),
      listening: undefined,
    };
    this.#sessions.set(sessionId, session);
    return session;
  }

  #fellSilent(sessionId: string, { tasks, subscriptions }: Session): void {
    this.#silent.delete(sessionId);
    if (this.#sessions.has(sessionId) && tasks.size + subscriptions.size > 0) this.#silent.add(sessionId);
    else this.#sessions.delete(sessionId);
    for (const taskId of tasks.keys()) {
      if (tasks.size <= MAX_TASKS) break;
      tasks.delete(taskId);
    }
    for (const oldest of this.#silent) {
      if (this.#silent.size <= MAX_SILENT) break;
      this.#silent.delete(oldest);
      this.#sessions.delete(oldest);
    }
  }

  #tellOf({ subscriptions, listening }: Session, uri: string): void {
    const subscribed = subscriptions.get(uri);
    if (listening === undefined || subscribed === undefined) return;
    const { taskId, of, principal, ended } = subscribed;
    const { channel } = listening;
    if (channel.hears?.(principal) === false) return;
    const signal = AbortSignal.any([listening.ended.signal, ended.signal]);
    const room = async (): Promise<void> => channel.room?.();
    const tell = (): Promise<void> => channel.send(encodeResourceUpdated(uri));
    const news = { taskId, principal, room, tell, signal };
    void (of === 'log' ? tellOfLog(this.#tasks, news) : tellOfTask(this.#tasks, news)).then(() => {
      // Nothing of it will ever change again.
      if (!signal.aborted && subscriptions.get(uri) === subscribed) subscriptions.delete(uri);
    });
  }

  #tell(sessionId: string, { tasks, listening }: Session, taskId: TaskId, followed: Followed): void {
    if (listening === undefined) return;
    const { engine, logger } = this.#tasks;
    const { channel, patient } = listening;
    if (channel.hears?.(followed.principal) === false) return;
    const { signal } = listening.ended;
    let timer: Timer | undefined;
    const failed = (error: unknown): void => {
      if (!signal.aborted) logger.debug({ error }, 'a session could not be told about its task');
    };
    const bring = (record: TaskRecord): void => {
      if (!signal.aborted && !this.#desk.attended(taskId)) this.#desk.bring(record, channel).catch(failed);
    };
    /** Whoever fetches the questions now may leave without an answer. */
    const bringLater = (record: TaskRecord): void => {
      const hintMs = record.pollIntervalMs ?? pollIntervalMs(engine.clock.now() - record.createdAt);
      timer = engine.clock.setTimer(2 * hintMs, () => {
        if (this.#desk.attended(taskId)) bringLater(record);
        else bring(record);
      });
    };
    const report = (record: TaskRecord): void => {
      const { state, progress, progressToken } = record;
      const token = keptToken(sessionId, progressToken);
      if (token === undefined || progress === undefined || isTerminal(state) || this.#desk.attended(taskId)) return;
      if (!this.#told.isNews(taskId, progress)) return;
      channel
        .send({ jsonrpc: '2.0', ...wordsFor(record, channel.version).progress(record, token, progress) })
        .catch(failed);
    };
    const bringNews = (record: TaskRecord): void => {
      if (signal.aborted) return;
      report(record);
      const seen = seenOf(record);
      if (seen !== followed.seen) {
        followed.seen = seen;
        const told = wordsFor(record, channel.version).status(record, engine.clock.now(), this.#wording);
        if (told !== undefined) channel.send({ jsonrpc: '2.0', ...told }).catch(failed);
      }
      timer?.cancel();
      if (patient && record.state.status === 'input_required') bringLater(record);
      else bring(record);
    };
    let latest: TaskRecord | undefined;
    let telling: Promise<void> | undefined;
    /** What changes until there is room is told as one change: a session that reads slowly costs no memory. */
    const onChange = (record: TaskRecord): void => {
      if (channel.room === undefined) bringNews(record);
      else if (latest === undefined) telling = channel.room().then(tellLatest);
      latest = record;
    };
    const tellLatest = (): void => {
      const record = latest;
      latest = undefined;
      if (record !== undefined) bringNews(record);
    };
    engine
      .wait(taskId, followed.principal, { signal, onChange })
      .then(() => telling)
      .then(() => {
        if (signal.aborted) return; // Where the session listens next it is told, unless it was here.
        tasks.delete(taskId);
        this.#told.forget(taskId);
      })
      .catch((error) => {
        if (!signal.aborted) tasks.delete(taskId); // It is gone, or the store is; either way nothing is lost.
        failed(error);
      })
      .finally(() => timer?.cancel());
  }
}

/** Equal for records that a client need not be told apart. */
function seenOf({ state, statusMessage, progress }: TaskRecord): string {
  return JSON.stringify([state.status, statusMessage, progress]);
}
