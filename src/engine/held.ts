import {
  type Clock,
  DEFAULTS,
  type JsonValue,
  type Logger,
  type Principal,
  Recent,
  type RequestorAbilities,
  shortId,
  type TaskId,
  TaskInterruptedError,
  type TaskRecord,
  type TerminalState,
} from '../core/index.ts';
import type { Applied, Lease, TaskReport, TaskStore } from '../store/index.ts';
import type { Definition } from './definition.ts';
import type { CreatedTask, CreateRequest } from './engine.ts';
import { completed, internalError } from './outcome.ts';
import { persistently } from './persistently.ts';

/** A request whose work this process does beside the engine. */
export interface HoldRequest {
  method: string;
  name: string;
  principal: Principal;
  input: JsonValue;
  /** What else is worth keeping of the request, for operators. */
  context?: JsonValue;
  revision: string;
  originRequestId?: string;
  /** Milliseconds from creation, granted up to the engine's `maxTtlMs`; null: as long as there is. */
  ttlMs: number | null;
  /** @default 24 hours */
  keepResultMs?: number;
  pollIntervalMs?: number;
}

/** What came of a word about held work: `over`: the task had ended before; `not_held`: a handler of ours runs it. */
export type Told = 'applied' | 'over' | 'unknown' | 'not_held';

export interface HeldWorkParts {
  clock: Clock;
  logger: Logger;
  maxResultBytes: number;
  create(request: CreateRequest): Promise<CreatedTask>;
  store(): Promise<TaskStore>;
}

/** Why work that nobody here knows has a signal at all. */
const NOT_HERE = new TaskInterruptedError('the task is over, or its work is not done in this process');
/** Nobody asks for the signal of work that ended so long ago. */
const REMEMBERED = 1_000;
const NO_ABILITIES: RequestorAbilities = { form: false };

/**
 * Tasks whose work is no handler of ours: somebody else in this process does it, and tells how it goes. The engine does all
 * the rest: it keeps the lease while the process lives, ends the task honestly when the process does not, and says by a
 * signal when the work is wanted no more. Such work takes no slot, since it runs already, and never runs again.
 */
export class HeldWork {
  readonly #parts: HeldWorkParts;
  readonly #here = new Map<TaskId, Holding>();
  readonly #stopped = new Recent<TaskId, AbortSignal>(REMEMBERED);

  constructor(parts: HeldWorkParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once the task is durable and this process holds it.
   * @throws {LimitExceededError} when the arguments are too large, or the principal has too many open tasks.
   * @throws {StoreClosedError} when the engine stops.
   */
  async hold({ ttlMs, context, ...request }: HoldRequest): Promise<TaskRecord> {
    const holding = new Holding();
    const { task } = await this.#parts.create({
      definition: definitionOf(request, holding),
      principal: request.principal,
      input: request.input,
      ...(context !== undefined && { prepared: context }),
      revision: request.revision,
      abilities: NO_ABILITIES,
      ttlMs: ttlMs ?? Number.MAX_SAFE_INTEGER,
      ...(request.originRequestId !== undefined && { originRequestId: request.originRequestId }),
    });
    if (!holding.ended) this.#here.set(task.taskId, holding);
    else this.#stopped.set(task.taskId, holding.signal);
    holding.onEnd(() => {
      this.#here.delete(task.taskId);
      this.#stopped.set(task.taskId, holding.signal);
    });
    return task;
  }

  /**
   * Aborted when the task was cancelled or expired, and when this process loses it: nobody wants the work any more. Not
   * aborted by the end that the work itself brought about.
   */
  signalOf(taskId: TaskId): AbortSignal {
    return this.#here.get(taskId)?.signal ?? this.#stopped.get(taskId) ?? AbortSignal.abort(NOT_HERE);
  }

  /** Ends the task with what the work came to; a result that cannot be kept is a failure, told as such. */
  complete(taskId: TaskId, result: unknown): Promise<Told> {
    return this.#end(taskId, (name) => completed(result, name, this.#parts.maxResultBytes));
  }

  /** Ends the task without a result. */
  fail(taskId: TaskId, message: string): Promise<Told> {
    return this.#end(taskId, () => internalError(message));
  }

  /** How it goes. */
  async report(taskId: TaskId, news: TaskReport): Promise<Told> {
    const found = await this.#find(taskId);
    if (typeof found === 'string') return found;
    const store = await this.#parts.store();
    return told(await store.report(found.lease, news));
  }

  async #end(taskId: TaskId, outcomeFor: (name: string) => TerminalState): Promise<Told> {
    const found = await this.#find(taskId);
    if (typeof found === 'string') return found;
    const { clock, logger } = this.#parts;
    const { name, principal } = found;
    const outcome = outcomeFor(name);
    const holding = this.#here.get(taskId);
    holding?.ending(true); // Before its end can be noticed: it is no reason to stop the work.
    const store = await this.#parts.store();
    const fields = { task: shortId(taskId), tool: name, owner: principal.subject };
    const write = () => store.finish(found.lease, outcome);
    const applied = await persistently(write, { clock, logger, fields });
    if (applied === 'applied') logger.info({ ...fields, outcome: outcome.status }, 'a task is over');
    else holding?.ending(false);
    return told(applied);
  }

  /**
   * The lease that the task is held under, by whichever process: work may be handed to another one on the same store, which
   * then tells its end there.
   */
  async #find(
    taskId: TaskId,
  ): Promise<{ lease: Lease; name: string; principal: Principal } | Exclude<Told, 'applied'>> {
    const task = await (await this.#parts.store()).inspect(taskId);
    if (task === undefined) return 'unknown';
    if (task.onWorkerLost !== 'held') return 'not_held';
    if (task.lease === undefined) return 'over';
    const { worker: workerId, fence, until: leaseUntil } = task.lease;
    const { name, principal, attempt } = task;
    return { lease: { taskId, workerId, fence, attempt, leaseUntil }, name, principal };
  }
}

function told(applied: Applied): Told {
  return applied === 'applied' ? 'applied' : 'over';
}

/** Work that is done here, as its task's run sees it: something to wait for until nobody wants it any more. */
class Holding {
  readonly #controller = new AbortController();
  #run: AbortSignal | undefined;
  #ending = false;
  #onEnd: (() => void) | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get ended(): boolean {
    return this.#run?.aborted ?? false;
  }

  onEnd(listener: () => void): void {
    this.#onEnd = listener;
  }

  /** Whether the work itself ends the task right now; false: it came too late for that. */
  ending(ending: boolean): void {
    this.#ending = ending;
    this.#settle();
  }

  /** Resolves when the run is over, however that came. */
  wait(run: AbortSignal): Promise<void> {
    this.#run = run;
    return new Promise((resolve) => {
      const over = (): void => {
        this.#settle();
        this.#onEnd?.();
        resolve();
      };
      if (run.aborted) over();
      else run.addEventListener('abort', over, { once: true });
    });
  }

  #settle(): void {
    if (this.ended && !this.#ending) this.#controller.abort(this.#run?.reason);
  }
}

function definitionOf(
  { method, name, keepResultMs = DEFAULTS.keepResultMs, pollIntervalMs }: Omit<HoldRequest, 'ttlMs' | 'context'>,
  holding: Holding,
): Definition {
  return {
    method,
    name,
    ttlMs: null, // Each request says its own.
    keepResultMs,
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    maxAttempts: 1,
    onWorkerLost: 'held',
    strict: false,
    async run(_input, { signal }) {
      await holding.wait(signal);
      throw signal.reason; // Nobody hears it: the run is over by now.
    },
  };
}
