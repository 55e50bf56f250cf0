import { isJsonObject } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';
import { TASK_META_KEY } from './names.ts';

/** What a requestor says of the task that its request is to become. */
export interface TaskWish {
  /** What it calls the task. */
  requestorTaskId: string;
  /** How long after its end to keep the task, in milliseconds; null: for ever. */
  keepAliveMs?: number | null;
}

/** Long enough for every scheme there is, and short enough to be repeated in every message. */
const MAX_TASK_ID_LENGTH = 256;

/**
 * What a request says of the task it is to become; `undefined` when it says nothing of tasks.
 * @param meta `_meta` of the request, as received
 * @see SEP-1686, section 3.1; core draft of 2025-10-31, `TaskMetadata`
 */
export function decodeTask(meta: unknown): Decoded<TaskWish> | undefined {
  if (!isJsonObject(meta) || !Object.hasOwn(meta, TASK_META_KEY)) return undefined;
  const task = meta[TASK_META_KEY];
  if (!isJsonObject(task)) return wrong('', 'an object with a taskId');
  const { taskId, keepAlive } = task;
  if (typeof taskId !== 'string' || !isTaskId(taskId)) {
    return wrong('.taskId', `a string of 1 to ${MAX_TASK_ID_LENGTH} characters, none of them a control character`);
  }
  if (keepAlive === undefined) return { ok: true, value: { requestorTaskId: taskId } };
  if (keepAlive !== null && !(Number.isFinite(keepAlive) && (keepAlive as number) >= 0)) {
    return wrong('.keepAlive', 'milliseconds of at least 0');
  }
  return { ok: true, value: { requestorTaskId: taskId, keepAliveMs: keepAlive as number | null } };
}

/** Anything a person or a header can carry; half a surrogate pair would not come back as it was sent. */
function isTaskId(taskId: string): boolean {
  return (
    taskId !== '' &&
    taskId.length <= MAX_TASK_ID_LENGTH &&
    !/\p{Cc}/u.test(taskId) &&
    Buffer.from(taskId).toString() === taskId
  );
}

function wrong(member: string, expected: string): { ok: false; message: string } {
  return { ok: false, message: `params._meta["${TASK_META_KEY}"]${member}: expected ${expected}` };
}
