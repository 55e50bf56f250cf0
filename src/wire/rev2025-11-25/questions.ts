import {
  type Answer,
  isJsonObject,
  type JsonObject,
  type Principal,
  type Question,
  type RpcErrorObject,
  type TaskId,
  unreachable,
} from '../../core/index.ts';
import { boundTo, type Seal } from '../seal.ts';
import { type Outgoing, relatedTask } from './encode.ts';

/** What a requestor of this revision can be asked: more than a task's handler may ask so far. */
export type Asked = Question;

/**
 * What came back. Without an answer, `error` is there if the peer said no by a JSON-RPC error; else what it sent makes
 * no sense, and the question stays open.
 */
export type DecodedAnswer = { ok: true; value: Answer } | { ok: false; message: string; error?: RpcErrorObject };

/** The code by which hosts say that a person refused. */
const USER_REJECTED = -1;

/**
 * The request that puts an open question to the requestor, but for its id.
 * @param id of the request, see {@link encodeQuestionId}; a page to visit is known by it too
 * @see 2025-11-25 tasks, "Input Required Status", "Associating Task-Related Messages"
 */
export function encodeQuestion(taskId: TaskId, id: string, asked: Asked): Outgoing {
  return encodeAsked(id, asked, relatedTask(taskId));
}

/** The same of a question that belongs to no task. @param related what ties it to one */
export function encodeAsked(id: string, asked: Asked, related: JsonObject = {}): Outgoing {
  const tied = Object.keys(related).length > 0 ? { _meta: related } : {};
  switch (asked.kind) {
    case 'form': {
      const { message, schema } = asked;
      const params = { mode: 'form', message, requestedSchema: schema, ...tied };
      return { method: 'elicitation/create', params };
    }
    case 'url': {
      const { message, url } = asked;
      const params = { mode: 'url', message, url, elicitationId: id, ...tied };
      return { method: 'elicitation/create', params };
    }
    case 'sampling': {
      // Never as a task of the client's: its answer has to come back on this request.
      const { _meta, task: _task, ...own } = asked.params;
      const meta = { ...(isJsonObject(_meta) && _meta), ...related };
      const params = { ...own, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
      return { method: 'sampling/createMessage', params };
    }
    case 'roots':
      return { method: 'roots/list', params: tied };
    default:
      return unreachable(asked);
  }
}

/**
 * Reads the answer to a question. Whether content fits the question's schema is for the engine to say. The related-task
 * key is not asked for: common SDKs leave it out, and the id says enough.
 * @param reply `result` or `error` of the JSON-RPC response
 */
export function decodeAnswer(kind: Asked['kind'], reply: { result?: unknown; error?: unknown }): DecodedAnswer {
  if (reply.error !== undefined) return refused(kind, reply.error);
  const { result } = reply;
  if (!isJsonObject(result)) return { ok: false, message: 'result: expected an object' };
  switch (kind) {
    case 'sampling':
      return sampled(result);
    case 'roots': {
      const { _meta, ...content } = result;
      return { ok: true, value: { action: 'accept', content } };
    }
    default:
      return elicited(kind, result);
  }
}

/** A person who was asked and answered with an error has not agreed; a model that was not asked has no answer at all. */
function refused(kind: Asked['kind'], said: unknown): DecodedAnswer {
  const { code, message } = isJsonObject(said) ? said : {};
  if (code === USER_REJECTED) return { ok: true, value: { action: 'decline' } };
  if (kind === 'form' || kind === 'url') return { ok: true, value: { action: 'cancel' } };
  const error = {
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === 'string' ? message : 'the client refused without a message',
  };
  return { ok: false, message: error.message, error };
}

function elicited(kind: 'form' | 'url', { action, content = {} }: JsonObject): DecodedAnswer {
  switch (action) {
    case 'decline':
    case 'cancel':
      return { ok: true, value: { action } };
    case 'accept':
      // What a person did behind a URL does not come back here.
      if (kind === 'url') return { ok: true, value: { action, content: {} } };
      if (!isJsonObject(content)) return { ok: false, message: 'content: expected an object' };
      return { ok: true, value: { action, content } };
    default:
      return { ok: false, message: "action: expected 'accept', 'decline' or 'cancel'" };
  }
}

function sampled({ role, content, model, stopReason }: JsonObject): DecodedAnswer {
  if (role !== 'user' && role !== 'assistant') return { ok: false, message: "role: expected 'user' or 'assistant'" };
  if (typeof model !== 'string') return { ok: false, message: 'model: expected a string' };
  if (!isJsonObject(content) && !Array.isArray(content)) {
    return { ok: false, message: 'content: expected a block, or a list of blocks' };
  }
  const message = { role, content, model, ...(typeof stopReason === 'string' && { stopReason }) };
  return { ok: true, value: { action: 'accept', content: message } };
}

const ID_PURPOSE = 'question';
/** Tells ids of ours from those an SDK counts up. */
const ID_PREFIX = 'lc-';

/**
 * The JSON-RPC id under which a question is asked: the same each time, so that a client asked twice shows it once, and
 * readable by every process that shares the seal, wherever the answer arrives. To anybody but its principal it is no id of ours
 * at all, so that nothing tells the id of somebody else's question from one that was made up.
 */
export function encodeQuestionId(taskId: TaskId, key: string, principal: Principal, seal: Seal): string {
  return ID_PREFIX + seal.close(JSON.stringify([taskId, key]), boundTo(ID_PURPOSE, principal));
}

/** Which question of this principal's the id of a response belongs to; `undefined` when it is none. */
export function decodeQuestionId(
  id: unknown,
  principal: Principal,
  seal: Seal,
): { taskId: TaskId; key: string } | undefined {
  if (typeof id !== 'string' || !id.startsWith(ID_PREFIX)) return undefined;
  const text = seal.open(id.slice(ID_PREFIX.length), boundTo(ID_PURPOSE, principal));
  if (text === undefined) return undefined;
  const [taskId, key] = JSON.parse(text) as [TaskId, string];
  return { taskId, key };
}
