import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type Clock,
  canonicalJson,
  type JsonObject,
  type JsonValue,
  LimitExceededError,
  type Logger,
  MAX_POLL_INTERVAL_MS,
  type NewTask,
  newTaskId,
  type Principal,
  type RandomSource,
  type RequestorAbilities,
  StoreClosedError,
  shortId,
  type TaskId,
  type TaskProgress,
  type TaskRecord,
  type TaskStatus,
  type TerminalState,
} from '../core/index.ts';
import type { CreateOptions, Dispatcher, StoreBackend, TaskStore } from '../store/index.ts';
import { type Definition, Registry } from './definition.ts';
import { runEphemeral } from './ephemeral-run.ts';
import { HeldWork } from './held.ts';
import { Inspector } from './inspector.ts';
import { EndedJobs } from './jobs/ended-jobs.ts';
import { wakeHinted } from './jobs/hinted-jobs.ts';
import { JobKeeper } from './jobs/keeper.ts';
import { Maintenance } from './maintenance.ts';
import { OwnTasks } from './own-tasks.ts';
import type { PollSettings } from './polls.ts';
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
  /** What the requestor calls the task, if that is its to say. */
  requestorTaskId?: string;
  input: JsonValue;
  prepared?: JsonValue;
  revision: string;
  abilities: RequestorAbilities;
  originRequestId?: string;
  traceparent?: string;
  /** The life the requestor asks for, in milliseconds; granted up to `maxTtlMs`. @default the tool's */
  ttlMs?: number;
  /**
   * How long after its end the requestor wants the task to be kept, in milliseconds, and no longer; granted from
   * `MIN_KEPT_MS` to `maxTtlMs`. @default the tool's `keepResultMs` at least, and to the end of its TTL
   */
  keepAliveMs?: number;
  progressToken?: string | number;
  labels?: JsonObject;
  /** Somebody waits for the result: it may use the slots kept for such calls. */
  attended?: boolean;
  /** The same key, tool, principal and input again are the same task. */
  idempotencyKey?: string;
  /** The request may have come before, this many milliseconds ago or less: where its task would be gone by now, none is made. */
  repeatAgeMs?: number;
  /** Without a key: a call of the same tool, principal and input joins a task that is still open. */
  joinOpen?: boolean;
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
export class Engine extends OwnTasks<EngineParts> {
  readonly registry = new Registry();
  #opening: Promise<Opened> | undefined;
  #closing: Promise<void> | undefined;
  #worker: Worker | undefined;
  #endedJobs: EndedJobs | undefined;
  readonly #closed: (() => void)[] = [];

  /** Tasks whose work somebody else in this process does. */
  readonly held: HeldWork = new HeldWork({
    clock: this.parts.clock,
    logger: this.parts.logger,
    maxResultBytes: this.parts.settings.maxResultBytes,
    create: (request) => this.create(request),
    store: async () => (await this.opened()).store,
  });

  /** Jobs that go on beside their tasks, as far as this process began or followed them. */
  readonly #jobs: JobKeeper = new JobKeeper({
    clock: this.parts.clock,
    random: this.parts.random,
    logger: this.parts.logger,
    watch: (taskId, listener) => this.watch(taskId, listener),
    statusOf: (taskId) => this.statusOf(taskId),
  });

  /** How many runs of handlers this process has started. */
  get runs(): number {
    return this.#worker?.started ?? 0;
  }

  get clock(): Clock {
    return this.parts.clock;
  }

  /**
   * Takes something in that can be run as a task, also while the engine works.
   * @throws {TypeError} when there is one of this name.
   */
  register(definition: Definition): void {
    this.registry.add(definition);
    this.#lookForJobs(definition);
  }

  /** Those of tasks that ended while nobody looked. Beside everything else: nobody waits for it. */
  #lookForJobs(definition: Definition): void {
    void this.#endedJobs?.lookFor(definition);
  }

  /** Opens the store and starts working; every other method does so by itself. */
  async start(): Promise<void> {
    await this.opened();
  }

  /**
   * Resolves once the task is durable. Bad requests are the caller's to refuse before.
   * @throws {IdempotencyConflictError} when the key was used with other input.
   * @throws {TaskNotFoundError} when the request is a repeat, and so late that its task may have come and gone.
   * @throws {TaskIdTakenError} when the principal has a task of this `requestorTaskId`.
   * @throws {LimitExceededError} when the principal has too many open tasks.
   * @throws {StoreClosedError} when work that is held here comes while the engine stops.
   */
  async create(request: CreateRequest): Promise<CreatedTask> {
    const { store, worker } = await this.opened();
    const { definition, principal, input, prepared, revision, abilities, originRequestId, traceparent } = request;
    const { maxOpenTasksPerPrincipal, maxTtlMs, leaseMs, maxArgumentBytes } = this.parts.settings;
    const bytes = Buffer.byteLength(JSON.stringify(input));
    if (bytes > maxArgumentBytes) {
      throw new LimitExceededError(
        `the arguments have ${bytes} bytes; at most ${maxArgumentBytes} are taken; pass a reference to what is large`,
      );
    }
    const slot = worker.reserve(definition, principal, request.attended ?? false);
    // Nobody else could ever take it, and this process is about to stop.
    if (slot === undefined && definition.onWorkerLost === 'held') throw new StoreClosedError();
    try {
      const created = await store.create(
        {
          taskId: newTaskId(this.parts.random),
          ...(request.requestorTaskId !== undefined && { requestorTaskId: request.requestorTaskId }),
          principal,
          method: definition.method,
          name: definition.name,
          input,
          ...(prepared !== undefined && { prepared }),
          ttlMs: grantedTtl(request.ttlMs ?? definition.ttlMs, maxTtlMs),
          ...keptFor(request, maxTtlMs),
          ...(definition.pollIntervalMs !== undefined && { pollIntervalMs: definition.pollIntervalMs }),
          ...(definition.timeoutMs !== undefined && { timeoutMs: definition.timeoutMs }),
          maxAttempts: definition.maxAttempts,
          onWorkerLost: definition.onWorkerLost,
          ...(definition.version !== undefined && { toolVersion: definition.version }),
          revision,
          abilities,
          ...(originRequestId !== undefined && { originRequestId }),
          ...(traceparent !== undefined && { traceparent }),
          ...(request.progressToken !== undefined && { progressToken: request.progressToken }),
          ...(request.labels !== undefined && { labels: request.labels }),
        },
        {
          maxOpenTasks: maxOpenTasksPerPrincipal,
          ...(slot !== undefined && { claim: { workerId: worker.id, leaseMs } }),
          ...idempotencyOf(request),
        },
      );
      if (slot !== undefined) worker.redeem(slot, created.claimed);
      if (created.outcome === 'created') {
        const fields = { task: shortId(created.task.taskId), tool: definition.name, owner: principal.subject };
        this.parts.logger.info(fields, 'a task was created');
      }
      return { task: created.task, existing: created.outcome === 'existing' };
    } catch (error) {
      if (slot !== undefined) worker.redeem(slot, undefined);
      throw error;
    }
  }

  /** 32 random bytes that every process on this store shares, for what peers carry but must not read or change. */
  async secret(): Promise<Uint8Array> {
    return (await this.opened()).store.secret();
  }

  /** Where a task stands, whoever's it is; `undefined`: there is none. */
  async statusOf(taskId: TaskId): Promise<TaskStatus | undefined> {
    const [pulse] = await (await this.opened()).store.pulses([taskId]);
    return pulse?.status;
  }

  /** What a task that was put away until some time waits for is there: it goes on now. Does nothing to any other. */
  async wake(taskId: TaskId): Promise<void> {
    await (await this.opened()).store.wake(taskId);
  }

  /**
   * A request of the service that a tool's jobs are done by: open tasks that it is about look at their jobs now.
   * @returns how many; `undefined`: there is no such tool, it takes no such requests, or this one is not authentic.
   */
  async webhook(name: string, request: Request): Promise<number | undefined> {
    const hinted = await this.registry.find('tools/call', name)?.webhook?.(request);
    if (hinted === undefined) return undefined;
    const { store } = await this.opened();
    return wakeHinted(name, hinted, { store, jobs: this.#jobs });
  }

  /** Every task, whoever's it is: for operators. */
  get inspector(): Inspector {
    return new Inspector(async () => (await this.opened()).store, this.parts.random);
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
    const { clock, random, settings } = this.parts;
    const { maxResultBytes } = settings;
    const { prepared = undefined } = options;
    return runEphemeral(definition, input, { ...options, prepared, clock, maxResultBytes, id: newTaskId(random) });
  }

  /** One round of recovery and sweeping, now instead of at the next tick. */
  async sweep(): Promise<void> {
    await (await this.opened()).maintenance.run();
  }

  /** Stops taking work, gives what runs a moment, hands back the rest, and closes the store. */
  close(drainMs = this.parts.settings.drainMs): Promise<void> {
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
    this.#jobs.stop();
    await opened.maintenance.stop();
    await opened.worker.stop(drainMs);
    opened.resign();
    await opened.store.close();
    for (const listener of this.#closed.splice(0)) listener();
  }

  protected opened(): Promise<Opened> {
    this.#opening ??= this.#start();
    return this.#opening;
  }

  async #start(): Promise<Opened> {
    const { backend, clock, random, logger, settings } = this.parts;
    const { store, dispatcher } = await backend.open({ clock, random, logger });
    const name = `${hostname()}:${process.pid}:${Buffer.from(random.bytes(6)).toString('hex')}`;
    const { workerId, resign } = await store.enlist(name);
    const logged = (taskId: TaskId): void => this.logWatchers.notify(new Set([taskId]));
    const worker = new Worker(
      workerId,
      { store, dispatcher, registry: this.registry, clock, random, logger, jobs: this.#jobs, logged },
      settings,
    );
    this.#worker = worker;
    const wake = (): void => worker.wake();
    const { sweepMs, leaseMs } = settings;
    const maintenance = new Maintenance({ store, clock, logger, everyMs: sweepMs, graceMs: leaseMs, wake });
    dispatcher.onBell((changed) => {
      this.watchers.notify(changed);
      this.logWatchers.notify(changed); // What another process logs is news of anything; and ends are news of logs.
      worker.notice(changed).catch((error) => logger.error({ error }, 'news about tasks could not be read'));
      worker.wake();
    });
    maintenance.start();
    worker.wake();
    this.#endedJobs = new EndedJobs({ store, clock, logger, jobs: this.#jobs });
    for (const definition of this.registry.all) this.#lookForJobs(definition);
    return { store, dispatcher, worker, maintenance, resign };
  }
}

function idempotencyOf({
  idempotencyKey,
  repeatAgeMs,
  joinOpen,
  input,
}: CreateRequest): Pick<CreateOptions, 'idempotency'> {
  if (idempotencyKey === undefined && joinOpen !== true) return {};
  const requestHash = hashOf(input);
  const repeat = repeatAgeMs === undefined ? {} : { repeatAgeMs };
  if (idempotencyKey !== undefined) return { idempotency: { key: idempotencyKey, requestHash, ...repeat } };
  return { idempotency: { key: `same call ${requestHash}`, requestHash, whileOpen: true } };
}

function grantedTtl(wantedMs: number | null, maxTtlMs: number): number | null {
  return wantedMs === null ? null : Math.min(Math.max(1, Math.ceil(wantedMs)), maxTtlMs);
}

/** Whoever polls must be able to come back in time: also when the hint has grown to its longest. */
const MIN_KEPT_MS = 2 * MAX_POLL_INTERVAL_MS;

function keptFor(
  { keepAliveMs, definition }: CreateRequest,
  maxTtlMs: number,
): Pick<NewTask, 'keepResultMs' | 'keepFromEnd'> {
  if (keepAliveMs === undefined) return { keepResultMs: definition.keepResultMs };
  return { keepResultMs: Math.min(Math.max(MIN_KEPT_MS, Math.ceil(keepAliveMs)), maxTtlMs), keepFromEnd: true };
}

/** Equal for input that means the same, whatever the order of its members. */
function hashOf(input: JsonValue): string {
  return createHash('sha256').update(canonicalJson(input)).digest('base64url');
}
