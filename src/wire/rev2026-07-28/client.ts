import {
  type Answer,
  isJsonObject,
  type JsonObject,
  type Question,
  type RequestorAbilities,
} from '../../core/index.ts';
import { decodeQuestion, encodeReply } from '../asked.ts';
import type { Decoded } from '../decoded.ts';
import {
  isTaskId,
  type PeerTask,
  readError,
  readMembers,
  readProgress,
  readStatus,
  toolResult,
  withoutOutcome,
} from '../peer-task.ts';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROGRESS_META_KEY,
  REVISION,
  TASKS_EXTENSION,
} from './names.ts';

// The requestor's side: requests out, answers in.

const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion';

/** What every request says of who sends it. */
export interface Envelope {
  client: { name: string; version: string };
  abilities: RequestorAbilities;
  /** Whether this request may be answered with a task, or is about one. */
  tasks: boolean;
  /** The version agreed on; @default this folder's */
  version?: string;
}

/**
 * `_meta` of a request.
 * @see 2026-07-28 basic, "Request metadata"; ext-tasks 2026-07-28, "Capability Negotiation"
 */
export function encodeEnvelope({ client, abilities, tasks, version = REVISION }: Envelope): JsonObject {
  return {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: { ...client },
    [CLIENT_CAPABILITIES_META_KEY]: {
      ...encodeAbilities(abilities),
      ...(tasks && { extensions: { [TASKS_EXTENSION]: {} } }),
    },
  };
}

export function encodeAbilities({
  form,
  url = false,
  sampling = false,
  roots = false,
}: RequestorAbilities): JsonObject {
  return {
    ...((form || url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
    ...(sampling && { sampling: {} }),
    ...(roots && { roots: {} }),
  };
}

/** Whether a server says that it has tasks. @param capabilities as it sent them */
export function offersTasks(capabilities: unknown): boolean {
  const extensions = isJsonObject(capabilities) ? capabilities.extensions : undefined;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
}

/** What answered a call. */
export type CallAnswer =
  | { kind: 'result'; result: JsonObject }
  | { kind: 'task'; task: PeerTask }
  /** The server asks before there is any task; the call is repeated with the answers and the state, as it is. */
  | { kind: 'round'; questions: ReadonlyMap<string, Question>; state: string | undefined };

/**
 * The answer to a `tools/call`. A word for the kind of result that nobody knows makes the answer invalid.
 * @see 2026-07-28 schema, `ResultType`; ext-tasks 2026-07-28, `CreateTaskResult`
 */
export function decodeCallAnswer(result: JsonObject): Decoded<CallAnswer> {
  switch (result.resultType ?? 'complete') {
    case 'complete':
      return isNestedHandle(result)
        ? { ok: false, message: 'result.task: a task of this revision is told by resultType "task", and flat' }
        : { ok: true, value: { kind: 'result', result: toolResult(result) } };
    case 'task': {
      const task = decodeTask(result);
      return task.ok ? { ok: true, value: { kind: 'task', task: withoutOutcome(task.value) } } : task;
    }
    case 'input_required':
      return decodeRound(result);
    default:
      return { ok: false, message: `result.resultType: ${JSON.stringify(result.resultType)} is nothing that is known` };
  }
}

function isNestedHandle({ task, content }: JsonObject): boolean {
  return isJsonObject(task) && isTaskId(task.taskId) && content === undefined;
}

/** The answer to a request that gives a task nothing but an acknowledgement, or is about no task at all. */
export function decodePlainAnswer(result: JsonObject): Decoded<JsonObject> {
  const { resultType = 'complete' } = result;
  if (resultType === 'complete') return { ok: true, value: result };
  const what = resultType === 'task' ? 'only calls of tools become tasks' : 'expected "complete"';
  return { ok: false, message: `result.resultType: ${what}, got ${JSON.stringify(resultType)}` };
}

/**
 * A task: as a handle, the answer to `tasks/get`, or params of a push.
 * @param asked the id that was asked for, which the answer has to name
 */
export function decodeTask(said: unknown, asked?: string): Decoded<PeerTask> {
  if (!isJsonObject(said)) return { ok: false, message: 'expected an object' };
  const { taskId, status } = said;
  if (!isTaskId(taskId)) return { ok: false, message: 'taskId: expected a string that is not empty' };
  if (asked !== undefined && taskId !== asked) return { ok: false, message: 'taskId: another one than was asked for' };
  if (typeof status !== 'string') return { ok: false, message: 'status: expected a string' };
  const names = { ttl: 'ttlMs', pollInterval: 'pollIntervalMs', message: 'statusMessage' };
  const progress = isJsonObject(said._meta) ? readProgress(said._meta[PROGRESS_META_KEY]) : undefined;
  const questions = decodeQuestions(status === 'input_required' ? said.inputRequests : undefined);
  if (!questions.ok) return questions;
  const task: PeerTask = {
    taskId,
    status: readStatus(status),
    ...readMembers(said, names),
    ...(progress !== undefined && { progress }),
    questions: questions.value,
  };
  return withOutcome(task, said);
}

function withOutcome(task: PeerTask, { result, error, resultType }: JsonObject): Decoded<PeerTask> {
  switch (task.status) {
    case 'completed':
      if (resultType === 'task') return { ok: true, value: task };
      if (!isJsonObject(result)) return { ok: false, message: 'result: expected an object, since it is completed' };
      return { ok: true, value: { ...task, outcome: { status: 'completed', result: toolResult(result) } } };
    case 'failed':
      return {
        ok: true,
        value: { ...task, outcome: { status: 'failed', error: readError(error, task.statusMessage) } },
      };
    case 'cancelled': {
      const { statusMessage: reason } = task;
      return {
        ok: true,
        value: { ...task, outcome: { status: 'cancelled', ...(reason !== undefined && { reason }) } },
      };
    }
    default:
      return { ok: true, value: task };
  }
}

function decodeRound({ inputRequests, requestState }: JsonObject): Decoded<CallAnswer> {
  const questions = decodeQuestions(inputRequests);
  if (!questions.ok) return questions;
  if (requestState !== undefined && typeof requestState !== 'string') {
    return { ok: false, message: 'result.requestState: expected a string' };
  }
  if (requestState === undefined && questions.value.size === 0) {
    return { ok: false, message: 'result: input_required, without a question and without a state' };
  }
  return { ok: true, value: { kind: 'round', questions: questions.value, state: requestState } };
}

/** In a map, since a key may be called `__proto__`. What asks in a way that we do not know stays with the server. */
function decodeQuestions(requests: unknown): Decoded<Map<string, Question>> {
  const questions = new Map<string, Question>();
  if (requests !== undefined && !isJsonObject(requests)) {
    return { ok: false, message: 'inputRequests: expected an object' };
  }
  for (const [key, request] of Object.entries(requests ?? {})) {
    if (!isJsonObject(request)) return { ok: false, message: `inputRequests.${key}: expected a request` };
    const question = decodeQuestion(request.method, request.params);
    if (question === undefined) continue;
    if (!question.ok) return { ok: false, message: `inputRequests.${key}.params.${question.message}` };
    questions.set(key, question.value);
  }
  return { ok: true, value: questions };
}

/**
 * Answers as members of a `tasks/update` or a repeated call.
 * @returns `unsaid`: keys whose answer has no form here: a model or roots refused
 */
export function encodeResponses(
  answers: ReadonlyMap<string, Answer>,
  questions: ReadonlyMap<string, Question>,
): { responses: JsonObject; unsaid: string[] } {
  const responses: [string, JsonObject][] = [];
  const unsaid: string[] = [];
  for (const [key, answer] of answers) {
    const question = questions.get(key);
    if (question === undefined) continue; // Only what is outstanding may be answered.
    const reply = encodeReply(question, answer);
    if ('result' in reply) responses.push([key, reply.result]);
    else unsaid.push(key);
  }
  return { responses: Object.fromEntries(responses), unsaid };
}

export function encodeUpdate(taskId: string, responses: JsonObject): JsonObject {
  return { taskId, inputResponses: responses };
}

/** What a call is repeated with. @see 2026-07-28 multi-round-trip requests, "Client" */
export function encodeRound(responses: JsonObject, state: string | undefined): JsonObject {
  return { inputResponses: responses, ...(state !== undefined && { requestState: state }) };
}

export function encodeListen(taskIds: readonly string[]): JsonObject {
  return { notifications: { taskIds: [...taskIds] } };
}

const MISSING_CAPABILITY = -32021;
/** The number that code had in a draft of the release: only to be believed with the data that belongs to it. */
const MISSING_CAPABILITY_DRAFT = -32003;

/** Whether an error says that the request should have declared tasks, and that alone. */
export function asksForTasks({ code, data }: { code: number; data?: unknown }): boolean {
  if (code !== MISSING_CAPABILITY && code !== MISSING_CAPABILITY_DRAFT) return false;
  const required = isJsonObject(data) ? data.requiredCapabilities : undefined;
  const names = isJsonObject(required) ? Object.keys(required) : [];
  return names.length === 1 && offersTasks(required);
}
