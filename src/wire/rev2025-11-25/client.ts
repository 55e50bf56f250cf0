import { isJsonObject, type JsonObject } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';
import { isTaskId, type PeerTask, readMembers, readStatus, toolResult, withoutOutcome } from '../peer-task.ts';
import type { TaskSupport } from './capabilities.ts';
import { RELATED_TASK_META_KEY } from './names.ts';

// The requestor's side: requests out, answers in.

/** What a server says about running tools as tasks; `misdeclared`: it means to, but the innermost member is missing. */
export type Offered = 'offered' | 'misdeclared' | 'none';

/** @see 2025-11-25 tasks, "Capability Negotiation": the members of `tasks.requests` are all there is */
export function offersTasks(capabilities: unknown): Offered {
  const tasks = isJsonObject(capabilities) ? capabilities.tasks : undefined;
  if (!isJsonObject(tasks)) return 'none';
  const requests = isJsonObject(tasks.requests) ? tasks.requests : {};
  const call = isJsonObject(requests.tools) ? requests.tools.call : undefined;
  return isJsonObject(call) ? 'offered' : 'misdeclared';
}

/** Whether a tool of a `tools/list` may be called as a task; what is not said is forbidden. */
export function taskSupportOf(tool: JsonObject): TaskSupport {
  const support = isJsonObject(tool.execution) ? tool.execution.taskSupport : undefined;
  return support === 'optional' || support === 'required' ? support : 'forbidden';
}

/** Members of a `tools/call` that ask for a task. @param ttlMs milliseconds from creation */
export function encodeWish(ttlMs: number | undefined): JsonObject {
  return { task: ttlMs === undefined ? {} : { ttl: Math.max(1, Math.ceil(ttlMs)) } };
}

export type CallAnswer = { kind: 'result'; result: JsonObject } | { kind: 'task'; task: PeerTask };

/**
 * The answer to a `tools/call` that asked for a task. A server that answers at once has answered.
 * @see 2025-11-25 schema, `CreateTaskResult`
 */
export function decodeCallAnswer(result: JsonObject): Decoded<CallAnswer> {
  const { task, content } = result;
  if (content === undefined && task !== undefined) {
    const decoded = decodeTask(task);
    return decoded.ok ? { ok: true, value: { kind: 'task', task: withoutOutcome(decoded.value) } } : decoded;
  }
  const plain = decodeResult(result);
  if (!plain.ok) return plain;
  if (content === undefined && !('structuredContent' in result)) {
    return { ok: false, message: 'result: expected a task, or the content of a result' };
  }
  return { ok: true, value: { kind: 'result', result: plain.value } };
}

/** The answer to a `tools/call` that asked for no task: there can be none. */
export function decodeResult(result: JsonObject): Decoded<JsonObject> {
  const { task, content, taskId, status } = result;
  if (content === undefined) {
    if (task !== undefined) return { ok: false, message: 'result.task: nobody asked for a task' };
    if (taskId !== undefined && status !== undefined) {
      return { ok: false, message: 'result.taskId: a task of this revision stands in result.task' };
    }
  }
  return { ok: true, value: toolResult(result) };
}

/**
 * A task, flat as in the answer to `tasks/get`, or in `result.task`. A cancelled one is told in full; how the others ended is
 * the answer to `tasks/result`.
 * @param asked the id that was asked for, which the answer has to name
 */
export function decodeTask(said: unknown, asked?: string): Decoded<PeerTask> {
  if (!isJsonObject(said)) return { ok: false, message: 'result.task: expected an object' };
  const { taskId, status, statusMessage } = said;
  if (!isTaskId(taskId)) return { ok: false, message: 'taskId: expected a string that is not empty' };
  if (asked !== undefined && taskId !== asked) return { ok: false, message: 'taskId: another one than was asked for' };
  if (typeof status !== 'string') return { ok: false, message: 'status: expected a string' };
  const reason = typeof statusMessage === 'string' ? { reason: statusMessage } : {};
  return {
    ok: true,
    value: {
      taskId,
      status: readStatus(status),
      ...readMembers(said, { ttl: 'ttl', pollInterval: 'pollInterval', message: 'statusMessage' }),
      questions: new Map(),
      ...(status === 'cancelled' && { outcome: { status, ...reason } }),
    },
  };
}

const RELATED_KEYS = [RELATED_TASK_META_KEY, 'modelcontextprotocol.io/related-task'] as const;

/** Which task a message of a server's belongs to, and the member that says so: its answer has to say the same. */
export function relatedTaskOf(params: unknown): { taskId: string; meta: JsonObject } | undefined {
  const meta = isJsonObject(params) && isJsonObject(params._meta) ? params._meta : {};
  for (const key of RELATED_KEYS) {
    const related = meta[key];
    if (isJsonObject(related) && isTaskId(related.taskId)) {
      return { taskId: related.taskId, meta: { [key]: { taskId: related.taskId } } };
    }
  }
  return undefined;
}

/** Names under which servers push the state of a task: the text's, and that of the next revision, which some use too. */
const STATUS_PUSHES: ReadonlySet<unknown> = new Set(['notifications/tasks/status', 'notifications/tasks']);

/** The task a server tells of unasked; `undefined` for every other message, and for one that makes no sense. */
export function decodePush(message: { method?: unknown; params?: unknown }): PeerTask | undefined {
  if (!STATUS_PUSHES.has(message.method)) return undefined;
  const task = decodeTask(message.params);
  return task.ok ? task.value : undefined;
}
