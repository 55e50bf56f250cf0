import {
  type JsonObject,
  pollIntervalMs,
  type TaskProgress,
  type TaskRecord,
  type TerminalState,
  unreachable,
} from '../../core/index.ts';
import { internalError, invalidParams } from '../errors.ts';
import type { Reply } from '../outbox.ts';
import { encodeProgress as encodeNotification } from '../progress.ts';
import { plainResult } from '../rev2025-11-25/result.ts';
import { CREATED_NOTIFICATION, RELATED_TASK_META_KEY } from './names.ts';

interface Notification {
  method: string;
  params: JsonObject;
}

/**
 * The answer to `tasks/get`.
 * @param taskId as the requestor calls the task
 * @param now milliseconds since the Unix epoch; the poll hint depends on the task's age
 * @see SEP-1686, sections 3.2 and 4.5; core draft of 2025-10-31, `GetTaskResult`
 */
export function encodeTask(task: TaskRecord, taskId: string, now: number): JsonObject {
  return { ...members(task, taskId, now), _meta: relatedTask(taskId) };
}

/** @see SEP-1686, section 4.9; core draft of 2025-10-31, `ListTasksResult` */
export function encodeList(
  tasks: readonly { task: TaskRecord; taskId: string }[],
  now: number,
  nextCursor?: string,
): JsonObject {
  return {
    tasks: tasks.map(({ task, taskId }) => members(task, taskId, now)),
    ...(nextCursor !== undefined && { nextCursor }),
  };
}

/**
 * The answer to `tasks/result`, which never waits: the result of a completed task, and of no other.
 * @see SEP-1686, sections 4.6 and 7.1
 */
export function encodePayload(task: TaskRecord, taskId: string): Reply {
  if (task.state.status === 'completed') return { result: resultOf(task, task.state.result, taskId) };
  return { error: invalidParams(`Task result not available: status is ${statusOf(task)}`) };
}

/**
 * The answer to the request that became the task: what it would have been answered with anyway.
 * @see SEP-1686, "Rationale"; core draft of 2025-10-31
 */
export function encodeAnswer(task: TaskRecord, state: TerminalState, taskId: string): Reply {
  switch (state.status) {
    case 'completed':
      return { result: resultOf(task, state.result, taskId) };
    case 'failed':
      return { error: { ...state.error } };
    case 'cancelled':
      return { error: { ...internalError, message: state.reason ?? 'Task was cancelled' } };
    default:
      return unreachable(state);
  }
}

/** The same for a task that was deleted meanwhile. */
export function encodeGone(): Reply {
  return { error: { ...internalError, message: 'Task was deleted' } };
}

/** The answer to `tasks/delete`: nothing but which task it was. @see SEP-1686, section 4.10 */
export function encodeDeleted(taskId: string): JsonObject {
  return { _meta: relatedTask(taskId) };
}

/** Tells a requestor that its task can be asked for from now on. @see SEP-1686, section 3.4 */
export function encodeCreated(taskId: string): Notification {
  return { method: CREATED_NOTIFICATION, params: { _meta: relatedTask(taskId) } };
}

/** Progress of a task, under the token of the request that created it. */
export function encodeProgress(taskId: string, progressToken: string | number, progress: TaskProgress): Notification {
  return encodeNotification(progressToken, progress, relatedTask(taskId));
}

/** Members of a `_meta` that ties its message to a task. */
export function relatedTask(taskId: string): JsonObject {
  return { [RELATED_TASK_META_KEY]: { taskId } };
}

// Never `...task`: a new domain field must not leak to the peer.
function members(task: TaskRecord, taskId: string, now: number): JsonObject {
  const { state } = task;
  return {
    taskId,
    status: statusOf(task),
    keepAlive: keepAliveOf(task),
    pollFrequency: task.pollIntervalMs ?? pollIntervalMs(now - task.createdAt),
    ...(state.status === 'failed' && { error: state.error.message }),
  };
}

/**
 * `submitted` until somebody works on it, which it never is again; a tool's own failure is `completed`. Never `unknown`: of
 * a task whose worker was lost it is told that it failed, and why.
 * @see SEP-1686, sections 4.3 and 7.2
 */
function statusOf({ state, started }: TaskRecord): string {
  return state.status === 'working' && !started ? 'submitted' : state.status;
}

/** What is promised, from the end on; a task that another revision created may live longer than that. */
function keepAliveOf({ state, expiresAt, updatedAt, keepResultMs, ttlMs }: TaskRecord): number | null {
  if (state.status === 'working' || state.status === 'input_required') return ttlMs === null ? null : keepResultMs;
  return expiresAt === null ? null : Math.max(keepResultMs, expiresAt - updatedAt);
}

function resultOf({ method }: TaskRecord, result: JsonObject, taskId: string): JsonObject {
  const { _meta, ...plain } = plainResult(result, method);
  return { ...plain, _meta: { ...(_meta as JsonObject | undefined), ...relatedTask(taskId) } };
}
