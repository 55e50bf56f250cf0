import { Recent, type TaskId, type TaskProgress } from '../core/index.ts';

/** Beyond this many, the tasks longest silent are forgotten: at worst a number is told twice. */
const MAX_TASKS = 10_000;

/**
 * How far requestors were told that their tasks are. Each number may go out once, on whichever stream is the one to use
 * then: under one token, progress only rises.
 * @see 2025-11-25 progress, "Behavior Requirements"
 */
export class ToldProgress {
  readonly #told = new Recent<TaskId, number>(MAX_TASKS);

  /** Whether this is news; if so, it counts as told. */
  isNews(taskId: TaskId, { progress }: TaskProgress): boolean {
    const before = this.#told.get(taskId) ?? Number.NEGATIVE_INFINITY;
    if (progress <= before) return false;
    this.#told.set(taskId, progress);
    return true;
  }

  /** The task is over. */
  forget(taskId: TaskId): void {
    this.#told.delete(taskId);
  }

  get size(): number {
    return this.#told.size;
  }
}
