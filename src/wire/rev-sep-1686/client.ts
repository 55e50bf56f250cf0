import { isJsonObject, type JsonObject } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';
import { isTaskId, type PeerTask, readMembers, readStatus } from '../peer-task.ts';
import { relatedTask } from './encode.ts';
import { TASK_META_KEY } from './names.ts';

// The requestor's side: requests out, answers in. What a created notification names is read by `createdTask`.

/** Members of the `_meta` of a request that is to be a task. @param keepAliveMs milliseconds from its end */
export function encodeWish(taskId: string, keepAliveMs: number | undefined): JsonObject {
  return { [TASK_META_KEY]: { taskId, ...(keepAliveMs !== undefined && { keepAlive: Math.ceil(keepAliveMs) }) } };
}

/** Whether a server has tools that run as tasks by this draft. @see core draft of 2025-10-31, "Capabilities" */
export function offersDraftTasks(capabilities: unknown): boolean {
  const tasks = isJsonObject(capabilities) ? capabilities.tasks : undefined;
  const tools = isJsonObject(tasks) ? tasks.tools : undefined;
  return isJsonObject(tools) && tools.call === true;
}

/** Params of a request about a task. */
export function encodeAbout(taskId: string): JsonObject {
  return { taskId, _meta: relatedTask(taskId) };
}

/**
 * The answer to `tasks/get`. What became of one that is `unknown` nobody will ever say: it failed.
 * @see SEP-1686, sections 3.2 and 4.3; core draft of 2025-10-31, `TaskInfo`
 */
export function decodeTask(said: unknown, asked: string): Decoded<PeerTask> {
  if (!isJsonObject(said)) return { ok: false, message: 'expected an object' };
  const { taskId = asked, status } = said;
  if (!isTaskId(taskId) || taskId !== asked) return { ok: false, message: 'taskId: another one than was asked for' };
  if (typeof status !== 'string') return { ok: false, message: 'status: expected a string' };
  // `keepAlive` counts from the end, so it says nothing of the time from creation. The later names were in the field too.
  const interval = 'pollFrequency' in said ? 'pollFrequency' : 'pollInterval';
  const message = 'error' in said ? 'error' : 'statusMessage';
  const { pollIntervalMs, statusMessage } = readMembers(said, { ttl: '', pollInterval: interval, message });
  const task: PeerTask = {
    taskId,
    status: status === 'submitted' ? 'working' : status === 'unknown' ? 'failed' : readStatus(status),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...(statusMessage !== undefined && { statusMessage }),
    questions: new Map(),
  };
  if (status === 'cancelled') return { ok: true, value: { ...task, outcome: { status: 'cancelled' } } };
  if (task.status !== 'failed') return { ok: true, value: task };
  const lost = 'the server does not know any more what became of the task';
  const why = statusMessage ?? (status === 'unknown' ? lost : 'failed without saying why');
  return { ok: true, value: { ...task, outcome: { status: 'failed', error: { code: -32603, message: why } } } };
}
