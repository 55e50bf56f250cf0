import { newTaskId, type RandomSource, type TaskId, TaskNotFoundError } from '../core/index.ts';
import type {
  ListOptions,
  LogPage,
  PastAttempt,
  Rekeyed,
  RekeyOptions,
  StorageSize,
  TaskCounts,
  TaskFilter,
  TaskInspection,
  TaskPage,
  TaskPayloads,
  TaskStore,
  TimelineEntry,
} from '../store/index.ts';

const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 50;
const MAX_LOG_PAGE_BYTES = 1024 * 1024;
const DEFAULT_LOG_PAGE_BYTES = 64 * 1024;

export interface LogReadOptions {
  /** Where to begin: 0, what an earlier page gave, or a negative number of bytes from the end. @default 0 */
  cursor?: number;
  /** How much to read at most, in bytes; at least one line. @default 64 KiB, at most 1 MiB */
  limitBytes?: number;
}

export interface OperatorAction {
  /** Told to whoever asks what became of the task. */
  reason?: string;
  /** Who did it, for the task's timeline. @default 'operator' */
  by?: string;
}

/** `tasks.inspect`: every task there is, whoever's it is. For operators; nothing of it may be offered to peers. */
export class Inspector {
  readonly #store: () => Promise<TaskStore>;
  readonly #random: RandomSource;

  constructor(store: () => Promise<TaskStore>, random: RandomSource) {
    this.#store = store;
    this.#random = random;
  }

  /**
   * Newest first; what the filter leaves out does not restrict. A page has 50 tasks unless `limit` says otherwise.
   * @throws {TypeError} when the cursor is not one that an earlier page gave.
   * @throws {RangeError} when `limit` is out of bounds: at most 1000.
   */
  async list(options: Partial<ListOptions> = {}): Promise<TaskPage> {
    const limit = within('list: limit', options.limit ?? DEFAULT_PAGE, 1, MAX_PAGE);
    return (await this.#store()).list({ ...options, limit });
  }

  /** How many tasks there are, by status and by who is to move. */
  async counts(): Promise<TaskCounts> {
    return (await this.#store()).counts();
  }

  /** What the store takes up, in bytes. */
  async storage(): Promise<StorageSize> {
    return (await this.#store()).storage();
  }

  /** Ids that begin with `prefix`; more than one means that it is too short. */
  async find(prefix: string, limit = 2): Promise<TaskId[]> {
    return (await this.#store()).findIds(prefix, within('find: limit', limit, 1, MAX_PAGE));
  }

  /** Everything about a task but its payloads. @throws {TaskNotFoundError} */
  async get(taskId: TaskId): Promise<TaskInspection> {
    return found(await (await this.#store()).inspect(taskId));
  }

  /** The leases the task has had, oldest first. */
  async attempts(taskId: TaskId): Promise<PastAttempt[]> {
    return (await this.#store()).attempts(taskId);
  }

  /** What happened to the task, oldest first: its events, its attempts and the names of its steps. */
  async timeline(taskId: TaskId, options: { after?: number; limit?: number } = {}): Promise<TimelineEntry[]> {
    const limit = within('timeline: limit', options.limit ?? MAX_PAGE, 1, MAX_PAGE);
    return (await this.#store()).timeline(taskId, options.after ?? 0, limit);
  }

  /** Arguments, step values, answers, and the result or error. @throws {TaskNotFoundError} */
  async payloads(taskId: TaskId): Promise<TaskPayloads> {
    return found(await (await this.#store()).payloads(taskId));
  }

  /** Lines of the task's log, while it runs and after. @throws {TaskNotFoundError} */
  async readLog(taskId: TaskId, options: LogReadOptions = {}): Promise<LogPage> {
    const { cursor, limitBytes } = logRange(options);
    return found(await (await this.#store()).readLog(taskId, cursor, limitBytes));
  }

  /**
   * Creates a task like a finished one, with the same tool, arguments and principal; the old one stays. An open task is
   * left alone: cancel it first. One that was `held` by its process, as tasks of the SDK's own `registerToolTask` are, has no
   * handler that could be run again: call the tool.
   * @throws {TaskNotFoundError}
   */
  async requeue(taskId: TaskId): Promise<{ outcome: 'requeued'; taskId: TaskId } | { outcome: 'still_open' | 'held' }> {
    const as = newTaskId(this.#random);
    const outcome = found(await (await this.#store()).requeue(taskId, as));
    return outcome === 'requeued' ? { outcome, taskId: as } : { outcome };
  }

  /** Cancels a task if it is open. @throws {TaskNotFoundError} */
  async cancel(taskId: TaskId, action: OperatorAction = {}): Promise<'cancelled' | 'already_terminal'> {
    const cancelled = await this.#cancel([taskId], action);
    if (cancelled.length === 1) return 'cancelled';
    await this.get(taskId);
    return 'already_terminal';
  }

  /** Cancels every open task the filter lets through; the result names them. `{}` means all of them. */
  cancelMany(filter: TaskFilter, action: OperatorAction = {}): Promise<TaskId[]> {
    return this.#cancel(filter, action);
  }

  /** Cancels the task if it is open, and deletes everything there is of it. @throws {TaskNotFoundError} */
  async remove(taskId: TaskId): Promise<void> {
    if (!(await (await this.#store()).remove(taskId))) throw new TaskNotFoundError();
  }

  /**
   * Encrypts everything in the store with the key in use: what was encrypted with another one, and what was not at all. Safe
   * beside running servers and workers. Once `left` is empty, other keys may go.
   * @throws {TypeError} when the store was opened without keys.
   */
  async rekey(options: RekeyOptions = {}): Promise<Rekeyed> {
    return (await this.#store()).rekey(options);
  }

  async #cancel(which: readonly TaskId[] | TaskFilter, action: OperatorAction): Promise<TaskId[]> {
    const { reason = 'cancelled by an operator', by = 'operator' } = action;
    return (await this.#store()).cancelAll(which, reason, by);
  }
}

/** @throws {RangeError} when an option is out of bounds */
export function logRange(options: LogReadOptions): { cursor: number; limitBytes: number } {
  const { cursor = 0, limitBytes = DEFAULT_LOG_PAGE_BYTES } = options;
  if (!Number.isSafeInteger(cursor)) throw new RangeError(`readLog: cursor must be a whole number, got ${cursor}`);
  return { cursor, limitBytes: within('readLog: limitBytes', limitBytes, 1, MAX_LOG_PAGE_BYTES) };
}

function within(what: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${what} must be a whole number from ${least} to ${most}, got ${value}`);
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TaskNotFoundError();
  return value;
}
