import { type Answer, isJsonObject, type TaskId } from '../../core/index.ts';

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

/**
 * Answers of a `tasks/update`. Only what is under an outstanding key is looked at: anything may stand under others, and
 * is ignored.
 * @param responses the request's `inputResponses`, as received
 * @param dropped keys under which something stood that is no response object
 * @see ext-tasks 2026-07-28, "Task Update"
 */
export function decodeAnswers(
  responses: unknown,
  dropped: readonly string[],
  openKeys: ReadonlySet<string>,
): Decoded<Map<string, Answer>> {
  for (const key of dropped) {
    if (openKeys.has(key)) return { ok: false, message: `inputResponses.${key}: expected an elicitation result` };
  }
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
