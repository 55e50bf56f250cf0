import { isJsonObject, type JsonObject, type TaskId } from '../../core/index.ts';

/** On a `tools/call`: earlier tasks that the host thinks this one has to do with. Advisory, of a draft. */
const RELATED_TASK_IDS_META_KEY = 'io.modelcontextprotocol/relatedTaskIds';
const MAX_RELATED = 32;

/** Members of the `_meta` of a call. @param taskIds of tasks of the same server, as it called them */
export function encodeRelated(taskIds: readonly string[]): JsonObject {
  return taskIds.length === 0 ? {} : { [RELATED_TASK_IDS_META_KEY]: taskIds.slice(-MAX_RELATED) };
}

/**
 * The ids a call names as related; what is no id, a repetition or too much is left out. Whether they are the caller's still
 * has to be checked, as for `tasks/get`.
 * @see ext-tasks draft, "Related Tasks"
 */
export function decodeRelatedTaskIds(meta: unknown): TaskId[] {
  const ids = isJsonObject(meta) ? meta[RELATED_TASK_IDS_META_KEY] : undefined;
  if (!Array.isArray(ids)) return [];
  return [...new Set(ids.filter((id): id is string => typeof id === 'string' && id !== ''))].slice(0, MAX_RELATED);
}
