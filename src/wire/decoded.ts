import { isJsonObject, type TaskId } from '../core/index.ts';

/** What came of reading something a peer sent. Bad input is told, never thrown. */
export type Decoded<Value> = { ok: true; value: Value } | { ok: false; message: string };

/** Longer ids are nobody's: ours are a few dozen characters. Refused before anything is looked up. */
const MAX_ID_LENGTH = 1_024;

/** `taskId` of a `tasks/*` request: the same in every revision, and all that says which task is meant. */
export function decodeTaskId(params: unknown): Decoded<TaskId> {
  const taskId = isJsonObject(params) ? params.taskId : undefined;
  if (typeof taskId !== 'string') return { ok: false, message: 'params.taskId: expected a string' };
  // Whether too long or too short to be an id, it is one that does not exist.
  return { ok: true, value: isTooLong(taskId) ? '' : taskId };
}

/** Nobody's id is as long as that. */
export function isTooLong(taskId: string): boolean {
  return taskId.length > MAX_ID_LENGTH;
}
