import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type Answer,
  AnswerInvalidError,
  type Clock,
  canonicalJson,
  isTerminal,
  type JsonValue,
  LimitExceededError,
  type Logger,
  newTaskId,
  type Principal,
  type RandomSource,
  type RequestorAbilities,
  type TaskId,
  TaskNotFoundError,
  type TaskProgress,
  type TaskRecord,
  type TerminalState,
} from '../core/index.ts';
import type { Dispatcher, LogPage, StoreBackend, TaskStore } from '../store/index.ts';
import { type Definition, Registry } from './definition.ts';
import { EphemeralContext } from './ephemeral-context.ts';
import { answerProblem } from './form-schema.ts';
import { Inspector, type LogReadOptions, logRange } from './inspector.ts';
import { Maintenance } from './maintenance.ts';
import { completed, thrown } from './outcome.ts';
import { type PollSettings, Polls } from './polls.ts';
import { Watchers } from './watchers.ts';
import { Worker, type WorkerSettings } from './worker.ts';

export interface EngineSettings extends WorkerSettings, PollSettings {
  sweepMs: number;
  drainMs: number;
  maxOpenTasksPerPrincipal: number;
  maxTtlMs: number;
  orphanGraceMs: number;
  maxArgumentBytes: number;
}

export interface EngineParts {
  backend: StoreBackend;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  settings: EngineSettings;
}

/** One request that becomes a task. */
export interface CreateRequest {
  definition: Definition;
  principal: Principal;
  input: JsonValue;
  prepared?: JsonValue;
  revision: string;
  abilities: RequestorAbilities;
  originRequestId?: string;
  traceparent?: string;
  /** The life the requestor asks for, in milliseconds; granted up to `maxTtlMs`. @default the tool's */
  ttlMs?: number;
  /** Somebody waits for the result: it may use the slots kept for such calls. */
  attended?: boolean;
  /** The same key, tool, principal and input again are the same task. */
  idempotencyKey?: string;
}

/** `existing`: the request had come before, and this is its task. */
export interface CreatedTask {
  task: TaskRecord;
  existing: boolean;
}

interface Opened {
  store: TaskStore;
  dispatcher: Dispatcher;
  worker: Worker;
  maintenance: Maintenance;
  resign: () => void;
}

/** Tasks from creation to the end: who works on them, who waits for them, what outlives what. */
export class Engine {
  readonly registry = new Registry();
  readonly #parts: EngineParts;
  readonly #watchers = new Watchers();
  readonly #polls: Polls;
  #opening: Promise<Opened> | undefined;
  #closing: Promise<void> | undefined;
  #worker: Worker | undefined;
  readonly #closed: (() => void)[] = [];

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#polls = new Polls(parts.clock, parts.settings);
  }

  /** How many runs of handlers this process has started. */
  get runs(): number {
    return this.#worker?.started ?? 0;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  /** Opens the store and starts working; every other method does so by itself. */
  async start(): Promise<void> {
    await this.#open();
  }

  /**
   * Resolves once the task is durable. Bad requests are the caller's to refuse before.
   * @throws {IdempotencyConflictError} when the key was used with other input.
   * @throws {LimitExceededError} when the principal has too many open tasks.
   */
  async create(request: CreateRequest): Promise<CreatedTask> {
    const { store, worker } = await this.#open();
    const { definition, principal, input, prepared, revision, abilities, originRequestId, traceparent } = request;
    const { idempotencyKey } = request;
    const { maxOpenTasksPerPrincipal, maxTtlMs, leaseMs, maxArgumentBytes } = this.#parts.settings;
    const bytes = Buffer.byteLength(JSON.stringify(input));
    if (bytes > maxArgumentBytes) {
      throw new LimitExceededError(`the arguments have ${bytes} bytes; at most ${maxArgumentBytes} are taken`);
    }
    const slot = worker.reserve(definition, principal, request.attended ?? false);
    try {
      const created = await store.create(
        {
          taskId: newTaskId(this.#parts.random),
          principal,
          method: definition.method,
          name: definition.name,
          input,
          ...(prepared !== undefined && { prepared }),
          ttlMs: grantedTtl(request.ttlMs ?? definition.ttlMs, maxTtlMs),
          keepResultMs: definition.keepResultMs,
          ...(definition.pollIntervalMs !== undefined && { pollIntervalMs: definition.pollIntervalMs }),
          ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
          maxAttempts: definition.maxAttempts,
          onWorkerLost: definition.onWorkerLost,
          ...(definition.version !== undefined && { toolVersion: definition.version }),
          revision,
          abilities,
          ...(originRequestId !== undefined && { originRequestId }),
          ...(traceparent !== undefined && { traceparent }),
        },
        {
          maxOpenTasks: maxOpenTasksPerPrincipal,
          ...(slot !== undefined && { claim: { workerId: worker.id, leaseMs } }),
          ...(idempotencyKey !== undefined && {
            idempotency: { key: idempotencyKey, requestHash: hashOf(input) },
          }),
        },
      );
      if (slot !== undefined) worker.redeem(slot, created.claimed);
      return { task: created.task, existing: created.outcome === 'existing' };
    } catch (error) {
      if (slot !== undefined) worker.redeem(slot, undefined);
      throw error;
    }
  }

  /** @throws {TaskNotFoundError} when it is unknown, expired or another principal's. */
  async get(taskId: TaskId, principal: Principal): Promise<TaskRecord> {
    const opened = await this.#open();
    const record = await opened.store.get(taskId, principal);
    if (record === undefined) throw new TaskNotFoundError();
    if (isTerminal(record.state) || record.expiresAt === null || record.expiresAt > this.#parts.clock.now())
      return record;
    // Past its TTL and not swept yet: what a reader is told must not depend on how busy the sweeper is.
    await opened.maintenance.run();
    return (await opened.store.get(taskId, principal)) ?? raise(new TaskNotFoundError());
  }

  /**
   * As `get`, for a peer that polls: not faster than `maxPollsPerSecond`.
   * @throws {TaskNotFoundError} as `get`; {@link RateLimitedError} when too many of its polls wait already.
   */
  async poll(taskId: TaskId, principal: Principal, signal?: AbortSignal): Promise<TaskRecord> {
    await this.#polls.admit(taskId, principal, (listener) => this.watch(taskId, listener), signal);
    return this.get(taskId, principal);
  }

  /**
   * Deletes a task with all that was kept of it; one that is still open is cancelled first.
   * @throws {TaskNotFoundError} as `get`.
   */
  async delete(taskId: TaskId, principal: Principal): Promise<void> {
    await this.cancel(taskId, principal, 'deleted by its owner');
    const { store } = await this.#open();
    if (!(await store.remove(taskId))) throw new TaskNotFoundError();
  }

  /**
   * Records answers by key; keys that are not open are ignored.
   * @throws {TaskNotFoundError} as `get`.
   * @throws {AnswerInvalidError} when an answer does not fit its question; then none is recorded.
   */
  async answer(taskId: TaskId, principal: Principal, answers: ReadonlyMap<string, Answer>): Promise<void> {
    const { store } = await this.#open();
    await this.get(taskId, principal);
    const open = await store.openQuestions(taskId, principal);
    if (open === undefined) throw new TaskNotFoundError();
    for (const { key, question } of open) {
      const given = answers.get(key);
      const problem = given === undefined ? undefined : answerProblem(question.schema, given);
      if (problem !== undefined) throw new AnswerInvalidError(key, problem);
    }
    if ((await store.answer(taskId, principal, answers)) === undefined) throw new TaskNotFoundError();
  }

  /** The keys that wait for an answer. @throws {TaskNotFoundError} as `get`. */
  async openKeys(taskId: TaskId, principal: Principal): Promise<Set<string>> {
    const { store } = await this.#open();
    await this.get(taskId, principal);
    const open = await store.openQuestions(taskId, principal);
    if (open === undefined) throw new TaskNotFoundError();
    return new Set(open.map(({ key }) => key));
  }

  /**
   * Decides the cancel at once. A task that is over stays as it is.
   * @throws {TaskNotFoundError} as `get`.
   */
  async cancel(taskId: TaskId, principal: Principal, reason?: string): Promise<'cancelled' | 'already_terminal'> {
    const { store } = await this.#open();
    await this.get(taskId, principal); // A life that is over is over for this method too, swept or not.
    const outcome = await store.cancel(taskId, principal, reason);
    if (outcome === undefined) throw new TaskNotFoundError();
    return outcome;
  }

  /**
   * The request that made the task broke off before its caller learned of it. Without an idempotency key nobody can
   * ever find it, so it is cancelled at once; with one, its caller has a while to ask again.
   */
  async abandon(taskId: TaskId, principal: Principal, keyed: boolean): Promise<void> {
    const reason = 'the request was cancelled before its task was known to the caller';
    if (!keyed) {
      await this.cancel(taskId, principal, reason);
      return;
    }
    const { store } = await this.#open();
    const { clock, logger, settings } = this.#parts;
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
    const { store } = await this.#open();
    return (await store.readLog(taskId, cursor, limitBytes)) ?? raise(new TaskNotFoundError());
  }

  /** Every task, whoever's it is: for operators. */
  get inspector(): Inspector {
    return new Inspector(async () => (await this.#open()).store, this.#parts.random);
  }

  /** Calls back whenever the task may have changed. Returns the function that ends the watch. */
  watch(taskId: TaskId, listener: () => void): () => void {
    return this.#watchers.watch(taskId, listener);
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

  /** Runs a definition that is never a task: within its request, without the store. */
  async runInline(
    definition: Definition,
    input: JsonValue,
    options: {
      principal: Principal;
      signal: AbortSignal;
      prepared?: JsonValue;
      onProgress: (progress: TaskProgress) => void;
    },
  ): Promise<TerminalState> {
    const { principal, signal, prepared, onProgress } = options;
    const id = newTaskId(this.#parts.random);
    const context = new EphemeralContext({ id, principal, signal, prepared, clock: this.clock, onProgress });
    try {
      return completed(await definition.run(input, context), definition.name, this.#parts.settings.maxResultBytes);
    } catch (error) {
      return thrown(error);
    }
  }

  /** One round of recovery and sweeping, now instead of at the next tick. */
  async sweep(): Promise<void> {
    await (await this.#open()).maintenance.run();
  }

  /** Stops taking work, gives what runs a moment, hands back the rest, and closes the store. */
  close(drainMs = this.#parts.settings.drainMs): Promise<void> {
    this.#closing ??= this.#close(drainMs);
    return this.#closing;
  }

  /** Calls back once the engine has closed. */
  onClose(listener: () => void): void {
    this.#closed.push(listener);
  }

  async #close(drainMs: number): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    if (opened === undefined) return;
    await opened.maintenance.stop();
    await opened.worker.stop(drainMs);
    opened.resign();
    await opened.store.close();
    for (const listener of this.#closed.splice(0)) listener();
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#start();
    return this.#opening;
  }

  async #start(): Promise<Opened> {
    const { backend, clock, random, logger, settings } = this.#parts;
    const { store, dispatcher } = await backend.open({ clock, random, logger });
    const name = `${hostname()}:${process.pid}:${Buffer.from(random.bytes(6)).toString('hex')}`;
    const { workerId, resign } = await store.enlist(name);
    const worker = new Worker(
      workerId,
      { store, dispatcher, registry: this.registry, clock, random, logger },
      settings,
    );
    this.#worker = worker;
    const wake = (): void => worker.wake();
    const { sweepMs, leaseMs } = settings;
    const maintenance = new Maintenance({ store, clock, logger, everyMs: sweepMs, graceMs: leaseMs, wake });
    dispatcher.onBell((changed) => {
      this.#watchers.notify(changed);
      worker.notice(changed).catch((error) => logger.error({ error }, 'news about tasks could not be read'));
      worker.wake();
    });
    maintenance.start();
    worker.wake();
    return { store, dispatcher, worker, maintenance, resign };
  }
}

function grantedTtl(wantedMs: number | null, maxTtlMs: number): number | null {
  return wantedMs === null ? null : Math.min(Math.max(1, Math.ceil(wantedMs)), maxTtlMs);
}

/** Equal for input that means the same, whatever the order of its members. */
function hashOf(input: JsonValue): string {
  return createHash('sha256').update(canonicalJson(input)).digest('base64url');
}

function raise(error: Error): never {
  throw error;
}
