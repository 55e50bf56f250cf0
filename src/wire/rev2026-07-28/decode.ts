import { type Answer, isJsonObject, type JsonValue, type TaskId } from '../../core/index.ts';
import { METHODS } from './names.ts';

export type Decoded<Value> = { ok: true; value: Value } | { ok: false; message: string };

/** Longer ids are nobody's: ours are a few dozen characters. Refused before anything is looked up. */
const MAX_ID_LENGTH = 1_024;

/** `taskId` of a `tasks/*` request. Bad peer input never throws. */
export function decodeTaskId(params: unknown): Decoded<TaskId> {
  const taskId = isJsonObject(params) ? params.taskId : undefined;
  if (typeof taskId !== 'string') return { ok: false, message: 'params.taskId: expected a string' };
  // Whether too long or too short to be an id, it is one that does not exist.
  return { ok: true, value: taskId.length > MAX_ID_LENGTH ? '' : taskId };
}

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
export function decodeAnswers(params: unknown, openKeys: ReadonlySet<string>): Decoded<Map<string, Answer>> {
  const responses = isJsonObject(params) ? params[KEPT_RESPONSES] : undefined;
  if (!isJsonObject(responses)) return { ok: false, message: 'params.inputResponses: expected an object' };
  const answers = new Map<string, Answer>();
  for (const key of openKeys) {
    if (!Object.hasOwn(responses, key)) continue;
    const answer = decodeAnswer(responses[key]);
    if (!answer.ok) return { ok: false, message: `inputResponses.${key}: ${answer.message}` };
    answers.set(key, answer.value);
  }
  return { ok: true, value: answers };
}

/** What a repeated call brings along from its earlier rounds: not validated, unless the server verifies its state. */
export interface EarlierRounds {
  answers: Readonly<Record<string, unknown>> | undefined;
  state: unknown;
}

/** @param request a call as the SDK hands it to a tool */
export function earlierRounds(request: {
  inputResponses?: Readonly<Record<string, unknown>> | undefined;
  requestState: () => unknown;
}): EarlierRounds {
  return { answers: request.inputResponses, state: request.requestState() };
}

function decodeAnswer(response: unknown): Decoded<Answer> {
  if (!isJsonObject(response)) return { ok: false, message: 'expected an elicitation result' };
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
