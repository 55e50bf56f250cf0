import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Principal,
  type Question,
  type TaskId,
} from '../../core/index.ts';
import { boundTo, type Seal } from '../seal.ts';
import { encodeQuestions } from './encode.ts';

/** Tells states of ours from those of a tool's `prepare` hook, which are none of our business. */
const STATE_PREFIX = 'lc-task.';
/** Where state and answers of such a call stand from when it arrives until it is decoded. */
const KEPT_ROUND = 'longcall/round';

/** Requests that may be answered by asking for something first. */
const ASKING = new Set<unknown>(['tools/call', 'prompts/get', 'resources/read']);

/** A call that goes on with a task its caller cannot know of: it has the answers to what the task asked. */
export interface Round {
  taskId: TaskId;
  /** Shaped like the params of a `tasks/update`: to be decoded as those are. */
  responses: JsonValue;
}

/**
 * The answer to a call whose task asks something, for a caller without tasks: what is asked, and a state by which the
 * same call, sent again with the answers, finds the task.
 * @see 2026-07-28 multi-round-trip requests, "Server Requirements"
 */
export function encodeInputRequired(
  taskId: TaskId,
  questions: ReadonlyMap<string, Question>,
  principal: Principal,
  seal: Seal,
): JsonObject {
  return {
    resultType: 'input_required',
    inputRequests: encodeQuestions(Object.fromEntries(questions)),
    requestState: STATE_PREFIX + seal.close(taskId, boundTo('round', principal)),
  };
}

/**
 * Puts state and answers of such a call where the SDK leaves them as they are: it would hold the state against the
 * server's own verifier. Changes the message in place.
 */
export function keepRound(message: unknown): void {
  if (!isJsonObject(message) || !ASKING.has(message.method) || !isJsonObject(message.params)) return;
  const { params } = message;
  const { requestState, inputResponses, _meta } = params;
  if (isJsonObject(_meta)) delete _meta[KEPT_ROUND]; // Nobody else may put anything there.
  if (typeof requestState !== 'string' || !requestState.startsWith(STATE_PREFIX)) return;
  params._meta = {
    ...(isJsonObject(_meta) ? _meta : {}),
    [KEPT_ROUND]: { state: requestState, responses: inputResponses ?? {} },
  };
  delete params.requestState;
  delete params.inputResponses;
}

/** The round a call belongs to; `undefined`: it is a new call. A state that is not this principal's gives an error. */
export function decodeRound(
  meta: unknown,
  principal: Principal,
  seal: Seal,
): { ok: true; value: Round } | { ok: false; message: string } | undefined {
  const kept = isJsonObject(meta) ? meta[KEPT_ROUND] : undefined;
  if (!isJsonObject(kept) || typeof kept.state !== 'string') return undefined;
  const taskId = seal.open(kept.state.slice(STATE_PREFIX.length), boundTo('round', principal));
  if (taskId === undefined)
    return { ok: false, message: 'params.requestState: not a state that this server gave you; call again without it' };
  return { ok: true, value: { taskId, responses: kept.responses ?? {} } };
}

/** Whether a call carries a round at all, which is cheaper to know than which. */
export function hasRound(meta: unknown): boolean {
  return isJsonObject(meta) && Object.hasOwn(meta, KEPT_ROUND);
}
