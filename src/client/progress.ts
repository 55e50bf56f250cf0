import { isJsonObject, type JsonObject, type TaskProgress } from '../core/index.ts';
import { readProgress } from '../wire/peer-task.ts';
import type { Connection } from './connection.ts';

type Hear = (progress: TaskProgress) => void;

/** Tells callers of the progress that a server reports under their tokens. */
export class ProgressTokens {
  readonly #hearers = new Map<unknown, Hear>();
  /** Tasks whose progress goes on under the token of the call that they came from. */
  readonly #tasks = new Map<string, string>();

  constructor(connection: Connection) {
    connection.listen(({ method, params }) => {
      if (method !== 'notifications/progress' || !isJsonObject(params)) return false;
      const hear = this.#hearers.get(params.progressToken);
      const progress = readProgress(params);
      if (progress !== undefined) hear?.(progress);
      return hear !== undefined;
    });
  }

  /** Members of the `_meta` of a call. */
  open(token: string, hear: Hear | undefined): JsonObject {
    if (hear === undefined) return {};
    this.#hearers.set(token, hear);
    return { progressToken: token };
  }

  /** The call is answered. @param taskId with a task, whose progress goes on */
  answered(token: string, taskId?: string): void {
    if (taskId !== undefined && this.#hearers.has(token)) this.#tasks.set(taskId, token);
    else this.#hearers.delete(token);
  }

  /** The task is over. */
  over(taskId: string): void {
    this.#hearers.delete(this.#tasks.get(taskId));
    this.#tasks.delete(taskId);
  }
}
