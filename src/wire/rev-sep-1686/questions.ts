import { isJsonObject, type JsonObject } from '../../core/index.ts';
import { type Asked, encodeQuestion as encodeAsLater } from '../rev2025-11-25/questions.ts';
import { relatedTask } from './encode.ts';
import { TASK_META_KEY } from './names.ts';

/**
 * A question of a task, as a request; its parameters are those of later revisions, and the keys about tasks its own.
 * @param taskId as the requestor calls the task
 * @param own what the question is called as a task of the client's, if it is to be one
 * @see SEP-1686, section 4.4
 */
export function encodeQuestion(
  taskId: string,
  id: string,
  asked: Asked,
  own?: { taskId: string; keepAliveMs: number },
): { method: string; params: JsonObject } {
  const { method, params } = encodeAsLater(taskId, id, asked);
  const said = asked.kind === 'sampling' && isJsonObject(asked.params._meta) ? asked.params._meta : {};
  const task = own && { [TASK_META_KEY]: { taskId: own.taskId, keepAlive: own.keepAliveMs } };
  return { method, params: { ...params, _meta: { ...said, ...relatedTask(taskId), ...task } } };
}
