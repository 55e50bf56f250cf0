import { type JsonObject, type Principal, type TaskId, TaskNotFoundError } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { decodeRelatedTaskIds } from '../wire/rev2026-07-28/index.ts';

/** Under this label operators find what a client said a task has to do with, ids apart by spaces. */
const RELATED_LABEL = 'relatedTasks';

/**
 * What a call says it has to do with, as a label of its task: of the ids it names only those that are the caller's. Others
 * are as if they were not there, and whoever named them cannot tell.
 */
export async function relatedLabels(
  { engine }: Tasks,
  meta: unknown,
  principal: Principal,
): Promise<{ labels?: JsonObject }> {
  const named = decodeRelatedTaskIds(meta);
  const own = await Promise.all(named.map((taskId) => ownOrNothing(taskId)));
  const related = own.filter((taskId) => taskId !== undefined);
  return related.length === 0 ? {} : { labels: { [RELATED_LABEL]: related.join(' ') } };

  async function ownOrNothing(taskId: TaskId): Promise<TaskId | undefined> {
    try {
      return (await engine.get(taskId, principal)).taskId;
    } catch (error) {
      if (error instanceof TaskNotFoundError) return undefined;
      throw error;
    }
  }
}
