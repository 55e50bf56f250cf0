import {
  isJsonObject,
  type JsonObject,
  pollIntervalMs,
  type Question,
  type TaskRecord,
  unreachable,
} from '../../core/index.ts';
import { OUTCOME_META_KEY } from '../outbox.ts';
import { SAID_STATUS_META_KEY } from '../said-status.ts';
import { statusMessageOf, toIso } from '../status-message.ts';
import { modernError } from './errors.ts';
import { PROGRESS_META_KEY, RELATED_TASK_META_KEYS } from './names.ts';

const RESERVED_META_KEYS = new Set<string>([OUTCOME_META_KEY, SAID_STATUS_META_KEY, ...RELATED_TASK_META_KEYS]);

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
    ...payloadOf(task),
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

function payloadOf({ state, method }: TaskRecord): JsonObject {
  switch (state.status) {
    case 'working':
    case 'cancelled':
      return {};
    case 'input_required':
      return { inputRequests: encodeQuestions(state.inputRequests) };
    case 'completed':
      return { result: encodeInlinedResult(state.result, method) };
    case 'failed':
      return { error: { ...modernError(state.error) } };
    default:
      return unreachable(state);
  }
}

// From entries, since a key may be called `__proto__`.
export function encodeQuestions(questions: Record<string, Question>): JsonObject {
  return Object.fromEntries(Object.entries(questions).map(([key, question]) => [key, encodeQuestion(question)]));
}

function encodeQuestion(question: Question): JsonObject {
  switch (question.kind) {
    case 'form': {
      const { message, schema } = question;
      return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: schema } };
    }
    case 'url': {
      const { message, url } = question;
      return { method: 'elicitation/create', params: { mode: 'url', message, url } };
    }
    case 'sampling':
      return { method: 'sampling/createMessage', params: question.params };
    case 'roots':
      return { method: 'roots/list' };
    default:
      return unreachable(question);
  }
}

/**
 * As the request itself would have been answered. This revision knows only tasks of tools, whose results clients may hold
 * against their schema: what is none of those (a prompt that an earlier revision made a task) has no content besides.
 */
export function encodeInlinedResult(result: JsonObject, method = 'tools/call'): JsonObject {
  return {
    ...(method !== 'tools/call' && { content: [] }),
    ...plainResult(result),
    resultType: 'complete',
  };
}

/**
 * A tool's own result, without what is not a tool's to say: which kind of result it is, and keys that tie a message to
 * a task, of other generations or our own.
 */
export function plainResult(result: JsonObject): JsonObject {
  const { _meta, resultType: _said, ...rest } = result;
  if (!isJsonObject(_meta)) return rest;
  const kept = Object.entries(_meta).filter(([key]) => !RESERVED_META_KEYS.has(key));
  return { ...rest, ...(kept.length > 0 && { _meta: Object.fromEntries(kept) }) };
}

/** What a call is answered with before any task exists: a result, or a request for input. */
export function immediateAnswer(respond: JsonObject): JsonObject {
  return respond.resultType === 'input_required' ? respond : plainResult(respond);
}
