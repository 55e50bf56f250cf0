import { type Answer, isJsonObject, type JsonObject, type Question, type RpcErrorObject } from '../core/index.ts';
import type { Decoded } from './decoded.ts';

// The requestor's end of a question: read off a request or an entry of `inputRequests`, which are alike, and answered.

/** The code by which a host says that a person refused. */
const USER_REJECTED = -1;

/**
 * @returns `undefined` for a method that asks nothing we know of.
 * @see 2025-11-25 and 2026-07-28, elicitation, sampling, roots
 */
export function decodeQuestion(method: unknown, params: unknown): Decoded<Question> | undefined {
  const given = isJsonObject(params) ? params : {};
  switch (method) {
    case 'elicitation/create':
      return given.mode === 'url' ? page(given) : form(given);
    case 'sampling/createMessage': {
      const { _meta, task: _task, ...rest } = given;
      if (!Array.isArray(rest.messages)) return { ok: false, message: 'messages: expected an array' };
      return { ok: true, value: { kind: 'sampling', params: rest } };
    }
    case 'roots/list':
      return { ok: true, value: { kind: 'roots' } };
    default:
      return undefined;
  }
}

function form({ mode, message, requestedSchema }: JsonObject): Decoded<Question> {
  if (mode !== undefined && mode !== 'form') return { ok: false, message: "mode: expected 'form' or 'url'" };
  if (typeof message !== 'string') return { ok: false, message: 'message: expected a string' };
  if (!isJsonObject(requestedSchema)) return { ok: false, message: 'requestedSchema: expected an object' };
  return { ok: true, value: { kind: 'form', message, schema: requestedSchema } };
}

/** A person is sent to this page, so it has to be one: no `javascript:`, no file. */
function page({ message, url }: JsonObject): Decoded<Question> {
  if (typeof message !== 'string') return { ok: false, message: 'message: expected a string' };
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return { ok: false, message: 'url: expected the address of a web page' };
  }
  return { ok: true, value: { kind: 'url', message, url } };
}

/**
 * The answer as the asking side reads it: a result, or an error where a model or a list of roots is refused, for which there
 * is no result.
 */
export function encodeReply({ kind }: Question, answer: Answer): { result: JsonObject } | { error: RpcErrorObject } {
  const refused = answer.action === 'decline' ? 'decline' : 'cancel';
  if (kind === 'form' || kind === 'url') {
    if (answer.action !== 'accept') return { result: { action: refused } };
    return { result: { action: 'accept', ...(kind === 'form' && { content: answer.content }) } };
  }
  if (answer.action === 'accept') return { result: answer.content };
  return { error: { code: USER_REJECTED, message: 'The user refused' } };
}
