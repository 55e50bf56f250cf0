import {
  type JsonObject,
  pollIntervalMs,
  type TaskId,
  type TaskProgress,
  type TaskRecord,
  type TerminalState,
  unreachable,
} from '../../core/index.ts';
import { internalError } from '../errors.ts';
import { EXISTING_META_KEY } from '../idempotency.ts';
import type { Reply } from '../outbox.ts';
import { encodeProgress } from '../progress.ts';
import { statusMessageOf, toIso } from '../status-message.ts';
import { IMMEDIATE_RESPONSE_META_KEY, RELATED_TASK_META_KEY, STATUS_NOTIFICATION } from './names.ts';
import { failureText, plainResult } from './result.ts';

export interface EncodeOptions {
  /**
   * The status of a task whose tool answered with `isError`. The revision says `failed`; some clients throw the payload of
   * a failed task away, and see it only if the task is called `completed`. @default 'failed'
   */
  isErrorStatus?: 'failed' | 'completed';
}

export interface HandleOptions extends EncodeOptions {
  /** What a host may hand to its model while the task runs. */
  immediateResponse?: string;
  /** The task existed before this request, which repeated an idempotency key. */
  existing?: boolean;
}

/** A notification, or a request that still needs an id. */
export interface Outgoing {
  method: string;
  params: JsonObject;
}

/**
 * The answer to a request that became a task; nothing of what the task yields is in it.
 * @param now milliseconds since the Unix epoch; the poll hint depends on the task's age
 * @see 2025-11-25 tasks, "Creating Tasks", `CreateTaskResult`
 */
export function encodeHandle(task: TaskRecord, now: number, options: HandleOptions = {}): JsonObject {
  const { immediateResponse, existing = false } = options;
  const _meta = {
    ...(immediateResponse !== undefined && { [IMMEDIATE_RESPONSE_META_KEY]: immediateResponse }),
    ...(existing && { [EXISTING_META_KEY]: true }),
  };
  return { task: encodeTask(task, now, options), ...(Object.keys(_meta).length > 0 && { _meta }) };
}

/**
 * The answer to `tasks/get`, and to `tasks/cancel` once the task is cancelled. It names the task itself, so it carries no
 * related-task key.
 * @see 2025-11-25 tasks, "Getting Tasks", "Cancelling Tasks"; schema, `Task`
 */
export function encodeTask(task: TaskRecord, now: number, options: EncodeOptions = {}): JsonObject {
  const statusMessage = isFailure(task) ? failureText(task.state.result) : statusMessageOf(task);
  // Never `...task`: a new domain field must not leak to the peer.
  return {
    taskId: task.taskId,
    status: statusOf(task, options),
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toIso(task.createdAt),
    lastUpdatedAt: toIso(task.updatedAt),
    ttl: task.ttlMs,
    pollInterval: task.pollIntervalMs ?? pollIntervalMs(now - task.createdAt),
  };
}

/**
 * The same for a client that moved to 2026-07-28 but asks in the old way for a task it created before: every result there
 * says what kind it is.
 * @see SEP-2663, compatibility matrix
 */
export function encodeTaskForLaterRevision(task: TaskRecord, now: number, options: EncodeOptions = {}): JsonObject {
  return { resultType: 'complete', ...encodeTask(task, now, options) };
}

/** @see 2025-11-25 tasks, "Listing Tasks", `ListTasksResult` */
export function encodeList(
  tasks: readonly TaskRecord[],
  now: number,
  nextCursor?: string,
  options: EncodeOptions = {},
): JsonObject {
  return {
    tasks: tasks.map((task) => encodeTask(task, now, options)),
    ...(nextCursor !== undefined && { nextCursor }),
  };
}

/**
 * The answer to `tasks/result` once the task is over: what the request itself would have been answered with, its error as
 * much as its result. A cancelled task has neither, so there is an error that says so.
 * @see 2025-11-25 tasks, "Result Retrieval", "Related Task Metadata"
 */
export function encodePayload(taskId: TaskId, state: TerminalState, method = 'tools/call'): Reply {
  switch (state.status) {
    case 'completed': {
      const { _meta, ...result } = plainResult(state.result, method);
      return { result: { ...result, _meta: { ...(_meta as JsonObject | undefined), ...relatedTask(taskId) } } };
    }
    case 'failed':
      return { error: { ...state.error } };
    case 'cancelled':
      return {
        error: { ...internalError, message: 'Task was cancelled', data: { taskId, status: 'cancelled' } },
      };
    default:
      return unreachable(state);
  }
}

/**
 * Tells a requestor that a task changed: the whole task, as `tasks/get` would give it.
 * @see 2025-11-25 tasks, "Task Status Notification"
 */
export function encodeStatusNotification(task: TaskRecord, now: number, options: EncodeOptions = {}): Outgoing {
  return { method: STATUS_NOTIFICATION, params: encodeTask(task, now, options) };
}

/**
 * Progress of a task, under the token of the request that created it. Not after the task's end.
 * @see 2025-11-25 progress; tasks, "Task Progress Notifications"
 */
export function encodeProgressNotification(
  taskId: TaskId,
  progressToken: string | number,
  progress: TaskProgress,
): Outgoing {
  return encodeProgress(progressToken, progress, relatedTask(taskId));
}

/** Members of a `_meta` that ties its message to a task. */
export function relatedTask(taskId: TaskId): JsonObject {
  return { [RELATED_TASK_META_KEY]: { taskId } };
}

/** The status of this revision: the store keeps a tool's own failure as completed. */
export function statusOf(task: TaskRecord, { isErrorStatus = 'failed' }: EncodeOptions = {}): string {
  return isFailure(task) ? isErrorStatus : task.state.status;
}

/** The tool did its work, and what it says is that something went wrong. */
function isFailure(task: TaskRecord): task is TaskRecord & { state: { status: 'completed'; result: JsonObject } } {
  return task.state.status === 'completed' && task.state.result.isError === true;
}

/** @see 2025-11-25 resources, "Subscriptions" */
export function encodeResourceUpdated(uri: string): JsonObject {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
}
