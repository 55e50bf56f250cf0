import {
  isJsonObject,
  isTerminal,
  type JsonObject,
  type JsonValue,
  pollIntervalMs,
  type Question,
  type TaskProgress,
  type TaskRecord,
  type TaskState,
  unreachable,
} from '../../core/index.ts';
import { PROGRESS_META_KEY, RELATED_TASK_META_KEYS } from './names.ts';

/**
 * The answer to a request that became a task: flat, and without any payload, even if the task is over already.
 * @param now milliseconds since the Unix epoch; the poll hint depends on the task's age
 * @see ext-tasks 2026-07-28, "Task Creation", `CreateTaskResult`
 */
export function encodeHandle(task: TaskRecord, now: number): JsonObject {
  return { resultType: 'task', ...members(task, now) };
}

/**
 * The answer to `tasks/get`.
 * @see ext-tasks 2026-07-28, "Task Polling", `GetTaskResult`
 */
export function encodeTask(task: TaskRecord, now: number): JsonObject {
  return {
    resultType: 'complete',
    ...members(task, now),
    ...payloadOf(task.state),
    ...(task.progress !== undefined && { _meta: { [PROGRESS_META_KEY]: { ...task.progress } } }),
  };
}

/** The empty acknowledgement of `tasks/update` and `tasks/cancel`: it says nothing about the task. */
export function encodeAck(): JsonObject {
  return { resultType: 'complete' };
}

// Never `...task`: a new domain field must not leak to the peer.
function members(task: TaskRecord, now: number): JsonObject {
  const statusMessage = statusMessageOf(task);
  return {
    taskId: task.taskId,
    status: task.state.status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: toIso(task.createdAt),
    lastUpdatedAt: toIso(task.updatedAt),
    ttlMs: task.ttlMs,
    pollIntervalMs: task.pollIntervalMs ?? pollIntervalMs(now - task.createdAt),
  };
}

function payloadOf(state: TaskState): JsonObject {
  switch (state.status) {
    case 'working':
    case 'cancelled':
      return {};
    case 'input_required':
      return { inputRequests: encodeQuestions(state.inputRequests) };
    case 'completed':
      return { result: encodeInlinedResult(state.result) };
    case 'failed':
      return { error: { ...state.error } };
    default:
      return unreachable(state);
  }
}

function encodeQuestions(questions: Record<string, Question>): JsonObject {
  const encoded: JsonObject = {};
  for (const [key, { message, schema }] of Object.entries(questions)) {
    encoded[key] = { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } };
  }
  return encoded;
}

/** As the request itself would have been answered: complete, and without keys of other generations. */
export function encodeInlinedResult(result: JsonObject): JsonObject {
  const { _meta, ...rest } = result;
  const meta = isJsonObject(_meta) ? withoutKeys(_meta, RELATED_TASK_META_KEYS) : {};
  return { ...rest, resultType: 'complete', ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

function withoutKeys(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

/** Progress has no field of its own, so the message carries it; an ended task says how it ended. */
function statusMessageOf({ state, statusMessage, progress }: TaskRecord): string | undefined {
  if (state.status === 'failed') return state.error.message;
  if (state.status === 'cancelled') return state.reason;
  if (isTerminal(state)) return undefined;
  return statusMessage ?? (progress === undefined ? undefined : progressText(progress));
}

/** `45/100 name`, `45 name`, `45/100`. */
export function progressText({ progress, total, message }: TaskProgress): string {
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  return message === undefined || message === '' ? count : `${count} ${message}`;
}

function toIso(milliseconds: number): JsonValue {
  return new Date(milliseconds).toISOString();
}
