import {
  type Answer,
  AnswerInvalidError,
  type Clock,
  isTerminal,
  type Logger,
  type Principal,
  type Question,
  shortId,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
} from '../core/index.ts';
import type { LogPage, TaskStore } from '../store/index.ts';
import { answerProblem } from './form-schema.ts';
import { type LogReadOptions, logRange } from './inspector.ts';
import type { Maintenance } from './maintenance.ts';
import { type PollSettings, Polls } from './polls.ts';
import { Probes } from './probes.ts';
import { Watchers } from './watchers.ts';

export interface OwnTasksParts {
  clock: Clock;
  logger: Logger;
  settings: PollSettings & { orphanGraceMs: number };
}

/** What a requestor may do with tasks of its own; those of others are as if they were not there. */
export abstract class OwnTasks<Parts extends OwnTasksParts> {
  protected readonly parts: Parts;
  protected readonly watchers = new Watchers();
  /** Apart from those: who follows a task's status does not look again for each line that it logs. */
  protected readonly logWatchers = new Watchers();
  readonly #polls: Polls;
  readonly #probes: Probes;

  constructor(parts: Parts) {
    this.parts = parts;
    this.#polls = new Polls(parts.clock, parts.settings);
    this.#probes = new Probes(parts.clock);
  }

  protected abstract opened(): Promise<{ store: TaskStore; maintenance: Maintenance }>;

  /** The task that this principal itself calls so, if it has one; it may be gone already. */
  async named(requestorTaskId: string, principal: Principal): Promise<TaskId | undefined> {
    const { store } = await this.opened();
    return store.findByRequestorId(requestorTaskId, principal);
  }

  /** @throws {TaskNotFoundError} when it is unknown, expired or another principal's. */
  async get(taskId: TaskId, principal: Principal): Promise<TaskRecord> {
    const opened = await this.opened();
    const record = await opened.store.get(taskId, principal);
    if (record === undefined) throw this.#notThere(principal);
    if (isTerminal(record.state)) this.#audit(record, 'debug', 'a task that is over was read');
    if (isTerminal(record.state) || record.expiresAt === null || record.expiresAt > this.parts.clock.now())
      return record;
    // Past its TTL and not swept yet: what a reader is told must not depend on how busy the sweeper is.
    await opened.maintenance.run();
    return (await opened.store.get(taskId, principal)) ?? raise(this.#notThere(principal));
  }

  /** A client that lost its notes asks for a few tasks that are not there; one that guesses, for many. */
  #notThere(principal: Principal): TaskNotFoundError {
    const count = this.#probes.note(principal);
    const owner = principal.subject;
    if (count !== undefined)
      this.parts.logger.warn({ owner, count }, 'a caller asks for many tasks that are not there');
    return new TaskNotFoundError();
  }

  /** What becomes of tasks, and by whom, for operators: never what is in them. */
  #audit({ taskId, name, principal }: TaskRecord, level: 'info' | 'debug', text: string): void {
    this.parts.logger[level]({ task: shortId(taskId), tool: name, owner: principal.subject }, text);
  }

  /** Whether there is such a task of this principal's. */
  async owns(taskId: TaskId, principal: Principal): Promise<boolean> {
    return (await this.#ifThere(taskId, principal)) !== undefined;
  }

  /**
   * As `get`, for a peer that polls: not faster than `maxPollsPerSecond`.
   * @throws {TaskNotFoundError} as `get`; {@link RateLimitedError} when too many of its polls wait already.
   */
  async poll(taskId: TaskId, principal: Principal, signal?: AbortSignal): Promise<TaskRecord> {
    const { store } = await this.opened();
    const watch = (listener: () => void): (() => void) => this.#watchOwn(taskId, principal, store, listener);
    await this.#polls.admit(taskId, principal, watch, signal);
    return this.get(taskId, principal);
  }

  /** As `watch`, but what becomes of somebody else's task goes unnoticed: to whoever asks for it, it does not exist. */
  #watchOwn(taskId: TaskId, principal: Principal, store: TaskStore, listener: () => void): () => void {
    let own = false;
    let changed = false;
    const tell = (): void => {
      changed = true;
      if (own) listener();
    };
    const unwatch = this.watch(taskId, tell); // Before the look, or a change falls in between.
    store.get(taskId, principal).then(
      (record) => {
        own = record !== undefined;
        if (own && changed) listener();
      },
      () => {}, // Then the poll waits for its turn, and is told the same error by its own look.
    );
    return unwatch;
  }

  /**
   * Deletes a task with all that was kept of it; one that is still open is cancelled first.
   * @throws {TaskNotFoundError} as `get`.
   */
  async delete(taskId: TaskId, principal: Principal): Promise<void> {
    await this.cancel(taskId, principal, 'deleted by its owner');
    const { store } = await this.opened();
    if (!(await store.remove(taskId))) throw new TaskNotFoundError();
    this.parts.logger.info({ task: shortId(taskId), owner: principal.subject }, 'a task was deleted by its owner');
  }

  /**
   * Records answers by key; keys that are not open are ignored.
   * @throws {TaskNotFoundError} as `get`.
   * @throws {AnswerInvalidError} when an answer does not fit its question; then none is recorded.
   */
  async answer(taskId: TaskId, principal: Principal, answers: ReadonlyMap<string, Answer>): Promise<void> {
    const { store } = await this.opened();
    await this.get(taskId, principal);
    const open = await store.openQuestions(taskId, principal);
    if (open === undefined) throw new TaskNotFoundError();
    for (const { key, question } of open) {
      const given = answers.get(key);
      const problem = given === undefined ? undefined : answerProblem(question, given);
      if (problem !== undefined) throw new AnswerInvalidError(key, problem);
    }
    if ((await store.answer(taskId, principal, answers)) === undefined) throw new TaskNotFoundError();
  }

  /** The questions that wait for an answer. @throws {TaskNotFoundError} as `get`. */
  async openQuestions(taskId: TaskId, principal: Principal): Promise<Map<string, Question>> {
    const { store } = await this.opened();
    await this.get(taskId, principal);
    const open = await store.openQuestions(taskId, principal);
    if (open === undefined) throw new TaskNotFoundError();
    return new Map(open.map(({ key, question }) => [key, question]));
  }

  /**
   * The principal's tasks, newest first.
   * @throws {TypeError} when the cursor is not one that an earlier page gave.
   */
  async list(
    principal: Principal,
    options: { limit: number; cursor?: string },
  ): Promise<{ tasks: TaskRecord[]; nextCursor?: string }> {
    const { store } = await this.opened();
    const { tasks, nextCursor } = await store.list({ principal, ...options });
    // Each as `get` tells it: what has expired, swept or not, is over or gone for both.
    const records = await Promise.all(tasks.map(({ taskId }) => this.#ifThere(taskId, principal)));
    return {
      tasks: records.filter((record) => record !== undefined),
      ...(nextCursor !== undefined && { nextCursor }),
    };
  }

  async #ifThere(taskId: TaskId, principal: Principal): Promise<TaskRecord | undefined> {
    try {
      return await this.get(taskId, principal);
    } catch (error) {
      if (error instanceof TaskNotFoundError) return undefined;
      throw error;
    }
  }

  /**
   * Decides the cancel at once. A task that is over stays as it is.
   * @throws {TaskNotFoundError} as `get`.
   */
  async cancel(taskId: TaskId, principal: Principal, reason?: string): Promise<'cancelled' | 'already_terminal'> {
    const { store } = await this.opened();
    await this.get(taskId, principal); // A life that is over is over for this method too, swept or not.
    const outcome = await store.cancel(taskId, principal, reason);
    if (outcome === undefined) throw new TaskNotFoundError();
    if (outcome === 'cancelled') {
      this.parts.logger.info({ task: shortId(taskId), owner: principal.subject }, 'a task was cancelled by its owner');
    }
    return outcome;
  }

  /**
   * The request that made the task broke off before its caller learned of it. Without an idempotency key nobody can
   * ever find it, so it is cancelled at once; with one, its caller has a while to ask again.
   */
  async abandon(taskId: TaskId, principal: Principal, keyed: boolean): Promise<void> {
    const reason = 'the request was cancelled before its task was known to the caller';
    const { store } = await this.opened();
    if (!keyed) {
      await store.cancelOrphan(taskId, principal, reason); // Another call may have joined it.
      return;
    }
    const { clock, logger, settings } = this.parts;
    clock.setTimer(settings.orphanGraceMs, () => {
      store
        .cancelOrphan(taskId, principal, reason)
        .catch((error) => logger.warn({ error }, 'a task nobody asked for again could not be cancelled'));
    });
  }

  /**
   * Lines of the task's log, for its owner.
   * @throws {TaskNotFoundError} as `get`; {@link RangeError} when an option is out of bounds.
   */
  async readLog(taskId: TaskId, principal: Principal, options: LogReadOptions = {}): Promise<LogPage> {
    const { cursor, limitBytes } = logRange(options);
    await this.get(taskId, principal);
    const { store } = await this.opened();
    return (await store.readLog(taskId, cursor, limitBytes)) ?? raise(new TaskNotFoundError());
  }

  /**
   * Where the task's log ends, in bytes: grows with whatever is logged. 0: nothing was.
   * @throws {TaskNotFoundError} as `get`.
   */
  async logEnd(taskId: TaskId, principal: Principal): Promise<number> {
    return (await this.readLog(taskId, principal, { cursor: Number.MAX_SAFE_INTEGER, limitBytes: 1 })).cursor;
  }

  /** Calls back whenever the task may have changed. Returns the function that ends the watch. */
  watch(taskId: TaskId, listener: () => void): () => void {
    return this.watchers.watch(taskId, listener);
  }

  /** Calls back whenever the task may have logged something, or be over. Returns the function that ends the watch. */
  watchLog(taskId: TaskId, listener: () => void): () => void {
    return this.logWatchers.watch(taskId, listener);
  }

  /**
   * Waits until the task is over, or `signal` aborts; `onChange` sees every state on the way.
   * @throws {TaskNotFoundError} as `get`; the signal's reason when it aborts first.
   */
  async wait(
    taskId: TaskId,
    principal: Principal,
    options: { signal?: AbortSignal; onChange?: (record: TaskRecord) => void } = {},
  ): Promise<TaskRecord> {
    const { signal, onChange } = options;
    let news = true;
    let wake = (): void => {};
    const ring = (): void => {
      news = true;
      wake();
    };
    const unwatch = this.watch(taskId, ring); // Before the first look, or a quick end falls in between.
    signal?.addEventListener('abort', ring, { once: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (!news) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        news = false;
        const record = await this.get(taskId, principal);
        onChange?.(record);
        if (isTerminal(record.state)) return record;
      }
    } finally {
      unwatch();
      signal?.removeEventListener('abort', ring);
    }
  }
}

function raise(error: Error): never {
  throw error;
}
