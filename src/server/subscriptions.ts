import {
  isTerminal,
  type Principal,
  StoreClosedError,
  type TaskId,
  TaskNotFoundError,
  type TaskRecord,
  type Timer,
} from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { encodeResourceUpdated, encodeTaskPush, type ListenId } from '../wire/rev2026-07-28/index.ts';

/** After this long a task whose state could not be read is read again. */
const RETRY_MS = 1_000;
/**
 * After a look that was in vain, the next one waits as long. Other processes only say that something has changed, so
 * that a busy one would have every task of every subscriber read all the time.
 */
const VAIN_MS = 250;

/** Where the messages of one subscription go. */
export interface Outlet {
  /** Resolves when another message would be read soon. What changes until then is told as one change. */
  room(): Promise<void>;
  send(message: object): void | Promise<void>;
}

/** What a subscriber wants to be told of one task: all of it, or that a resource has changed. */
export interface Wanted {
  push: boolean;
  uri?: string;
}

interface Watched extends Wanted {
  /** `updatedAt` of what was told last, which rises with every change that can be seen. */
  told: number;
  unwatch: () => void;
}

/**
 * Tells one subscriber of its tasks: first how each stands, then every change, and when one is over nothing more of it.
 * All it keeps is which tasks have changed: what is sent is read when there is room for it, so that a slow reader costs
 * no memory and never reads old news.
 */
export class TaskFeed {
  readonly #tasks: Tasks;
  readonly #principal: Principal;
  readonly #id: ListenId;
  readonly #outlet: Outlet;
  readonly #onOver: () => void;
  readonly #watched = new Map<TaskId, Watched>();
  readonly #changed = new Set<TaskId>();
  #state: 'waiting' | 'idle' | 'telling' | 'over' = 'waiting';
  #pause: Timer | undefined;

  /** @param onOver called once every task is over, or the store is closed; not by `close` */
  constructor(tasks: Tasks, principal: Principal, id: ListenId, outlet: Outlet, onOver: () => void) {
    this.#tasks = tasks;
    this.#principal = principal;
    this.#id = id;
    this.#outlet = outlet;
    this.#onOver = onOver;
  }

  /**
   * Watches those of the tasks that are the principal's. What is unknown, expired or another's is left out.
   * @returns the ids of the others
   */
  async accept(wanted: ReadonlyMap<TaskId, Wanted>): Promise<Set<TaskId>> {
    const { engine } = this.#tasks;
    for (const [taskId, what] of wanted) {
      // Before the look, or a change falls in between.
      const unwatch = engine.watch(taskId, () => this.#notice(taskId));
      this.#watched.set(taskId, { ...what, told: 0, unwatch });
    }
    for (const taskId of wanted.keys()) {
      if ((await this.#read(taskId)) === undefined) this.#leave(taskId);
    }
    return new Set(this.#watched.keys());
  }

  /** Starts telling. Until then nothing is sent. */
  start(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'idle';
    for (const taskId of this.#watched.keys()) this.#changed.add(taskId);
    this.#wake();
  }

  /** Stops, and lets go of everything. */
  close(): void {
    this.#state = 'over';
    this.#pause?.cancel();
    for (const taskId of [...this.#watched.keys()]) this.#leave(taskId);
  }

  #notice(taskId: TaskId): void {
    this.#changed.add(taskId);
    this.#wake();
  }

  #wake(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'telling';
    this.#tell()
      .then((inVain) => {
        if (this.#state !== 'telling') return;
        if (this.#watched.size === 0) this.#finish();
        else this.#rest(inVain ? VAIN_MS : 0);
      })
      .catch((error) => this.#failed(error));
  }

  /** @returns whether nothing of it was news */
  async #tell(): Promise<boolean> {
    let inVain = true;
    while (this.#changed.size > 0) {
      await this.#outlet.room();
      if (this.#state !== 'telling') break;
      const [taskId = ''] = this.#changed;
      const record = await this.#read(taskId);
      if (this.#state !== 'telling') break;
      // What changed while it was read is what was read, or is noticed again.
      if (record === undefined) this.#leave(taskId);
      else if (await this.#send(record)) inVain = false;
    }
    return inVain;
  }

  /** Looks again after a while, if there is anything to look at by then. */
  #rest(forMs: number): void {
    const go = (): void => {
      this.#state = 'idle';
      if (this.#changed.size > 0 || this.#watched.size === 0) this.#wake();
    };
    if (forMs === 0) go();
    else this.#pause = this.#tasks.engine.clock.setTimer(forMs, go);
  }

  /** @returns whether it was news */
  async #send(record: TaskRecord): Promise<boolean> {
    const { taskId, state, updatedAt } = record;
    const watched = this.#watched.get(taskId);
    if (watched === undefined || updatedAt <= watched.told) return false;
    watched.told = updatedAt;
    const { push, uri } = watched;
    if (isTerminal(state)) this.#leave(taskId);
    if (push) await this.#outlet.send(encodeTaskPush(record, this.#tasks.engine.clock.now(), this.#id));
    if (uri !== undefined) await this.#outlet.send(encodeResourceUpdated(uri, this.#id));
    return true;
  }

  async #read(taskId: TaskId): Promise<TaskRecord | undefined> {
    this.#changed.delete(taskId);
    try {
      return await this.#tasks.engine.get(taskId, this.#principal);
    } catch (error) {
      if (error instanceof TaskNotFoundError) return undefined;
      this.#changed.add(taskId);
      throw error;
    }
  }

  #failed(error: unknown): void {
    if (this.#state !== 'telling') return;
    if (error instanceof StoreClosedError) {
      this.#finish();
      return;
    }
    this.#tasks.logger.warn({ error }, 'a subscriber could not be told about its tasks yet');
    this.#rest(RETRY_MS);
  }

  #finish(): void {
    this.close();
    this.#onOver();
  }

  #leave(taskId: TaskId): void {
    this.#watched.get(taskId)?.unwatch();
    this.#watched.delete(taskId);
    this.#changed.delete(taskId);
  }
}
