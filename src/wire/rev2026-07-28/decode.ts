import { type Answer, isJsonObject, type JsonValue, type Question } from '../../core/index.ts';
import type { Decoded } from '../decoded.ts';
import { METHODS } from './names.ts';

/** Where the answers of a `tasks/update` stand from when it arrives until it is decoded. */
const KEPT_RESPONSES = 'longcall/inputResponses';

/**
 * Puts the answers of a `tasks/update` where the SDK leaves them as they are: it takes `inputResponses` out of the
 * params of every request, and what is no object, or has odd members, is not handed on. Changes the message in place.
 */
export function keepResponses(message: unknown): void {
  if (!isJsonObject(message) || message.method !== METHODS.update || !isJsonObject(message.params)) return;
  const { params } = message;
  // Written even if there are none: nobody else may put anything there.
  params[KEPT_RESPONSES] = Object.hasOwn(params, 'inputResponses') ? (params.inputResponses as JsonValue) : null;
}

/**
 * Answers of a `tasks/update` that went through {@link keepResponses}. Only what is under an outstanding key is looked
 * at: anything may stand under others, and is ignored.
 * @see ext-tasks 2026-07-28, "Task Update"
 */
export function decodeAnswers(params: unknown, open: ReadonlyMap<string, Question>): Decoded<Map<string, Answer>> {
  return decodeResponses(isJsonObject(params) ? params[KEPT_RESPONSES] : undefined, open);
}

/** The same for answers as they came. */
export function decodeResponses(responses: unknown, open: ReadonlyMap<string, Question>): Decoded<Map<string, Answer>> {
  if (!isJsonObject(responses)) return { ok: false, message: 'params.inputResponses: expected an object' };
  const answers = new Map<string, Answer>();
  for (const [key, { kind }] of open) {
    if (!Object.hasOwn(responses, key)) continue;
    const answer = decodeAnswer(kind, responses[key]);
    if (!answer.ok) return { ok: false, message: `inputResponses.${key}: ${answer.message}` };
    answers.set(key, answer.value);
  }
  return { ok: true, value: answers };
}

const RESULTS = {
  form: 'an elicitation result',
  url: 'an elicitation result',
  sampling: 'a sampling result',
  roots: 'a list of roots',
} as const satisfies Record<Question['kind'], string>;

/** What a repeated call brings along from its earlier rounds: not validated, unless the server verifies its state. */
export interface EarlierRounds {
  answers: Readonly<Record<string, unknown>> | undefined;
  state: unknown;
}

/** A call as the SDK hands it to a tool. */
export interface RoundCarrier {
  inputResponses?: Readonly<Record<string, unknown>> | undefined;
  requestState: () => unknown;
}

export function earlierRounds(request: RoundCarrier): EarlierRounds {
  return { answers: request.inputResponses, state: request.requestState() };
}

/** What fits the question is for the engine to say. */
function decodeAnswer(kind: Question['kind'], response: unknown): Decoded<Answer> {
  if (!isJsonObject(response)) return { ok: false, message: `expected ${RESULTS[kind]}` };
  if (kind === 'sampling' || kind === 'roots') {
    const { _meta, resultType: _said, ...content } = response;
    return { ok: true, value: { action: 'accept', content } };
  }
  if (kind === 'url' && response.action === 'accept') return { ok: true, value: { action: 'accept', content: {} } };
  const { action, content } = response;
  switch (action) {
    case 'decline':
    case 'cancel':
      return { ok: true, value: { action } };
    case 'accept':
      if (!isJsonObject(content)) return { ok: false, message: 'content: expected an object' };
      return { ok: true, value: { action, content } };
    default:
      return { ok: false, message: "action: expected 'accept', 'decline' or 'cancel'" };
  }
}
