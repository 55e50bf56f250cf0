import type { TaskId } from '../../src/core/index.ts';
import type { Tasks } from '../../src/engine/index.ts';

/** Tools whose handlers wait by themselves: a task of theirs may be working for as long as it likes. */
const WAITING = new Set(['slow', 'nap']);

/** How tasks ended: what is over stays as it is, and what is not over is waiting for something. */
export class Endings {
  readonly #tasks: Tasks;
  readonly #ended = new Map<TaskId, string>();

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
  }

  /** What has changed though it was over. Tasks that are gone were deleted, or have had their time. */
  async changed(): Promise<string[]> {
    const changed: string[] = [];
    for (const { taskId, status } of await this.#all()) {
      if (status === 'working' || status === 'input_required') continue;
      const { result, error } = await this.#tasks.inspect.payloads(taskId);
      const now = JSON.stringify({ status, result, error });
      const before = this.#ended.get(taskId) ?? now;
      if (before !== now) changed.push(`${taskId} was over and has changed from ${before} to ${now}`);
      this.#ended.set(taskId, now);
    }
    return changed;
  }

  /** Tasks that neither end nor wait for anybody. */
  async stuck(): Promise<string[]> {
    const open = (await this.#all()).filter(({ status, name }) => status === 'working' && !WAITING.has(name));
    return open.map(({ taskId, name }) => `${taskId} (${name}) is working, and on nothing`);
  }

  async #all() {
    const all = [];
    let cursor: string | undefined;
    do {
      const page = await this.#tasks.inspect.list({ limit: 1_000, ...(cursor !== undefined && { cursor }) });
      all.push(...page.tasks);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return all;
  }
}
