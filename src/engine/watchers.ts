import type { TaskId } from '../core/index.ts';

/** Who wants to know when which task changes. A call means "look again", never what changed. */
export class Watchers {
  readonly #byTask = new Map<TaskId, Set<() => void>>();

  /** Returns the function that ends the watch. */
  watch(taskId: TaskId, listener: () => void): () => void {
    let listeners = this.#byTask.get(taskId);
    if (listeners === undefined) {
      listeners = new Set();
      this.#byTask.set(taskId, listeners);
    }
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byTask.get(taskId) === listeners) this.#byTask.delete(taskId);
    };
  }

  /** Without `changed`, any task may have changed. */
  notify(changed: ReadonlySet<TaskId> | undefined): void {
    for (const taskId of changed ?? [...this.#byTask.keys()]) {
      for (const listener of [...(this.#byTask.get(taskId) ?? [])]) listener();
    }
  }

  get size(): number {
    return this.#byTask.size;
  }
}
