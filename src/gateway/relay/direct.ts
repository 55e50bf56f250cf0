import { RemoteRefusedError, RemoteUnreachableError } from '../../client/remote-errors.ts';
import type { Answer, JsonObject, Question } from '../../core/index.ts';
import { type FrontCall, TaskNeededError } from '../../server/front/front.ts';
import { asThrown } from '../../server/rpc-error.ts';
import { COMPANIONS, decodeDetached } from '../../wire/companions.ts';
import {
  askForPages,
  type Era,
  logLevelIn,
  pagesNeeded,
  relayedError,
  relayedResult,
  roundIn,
  withLogLevel,
} from '../../wire/relayed.ts';
import { asksForTasks, encodeResponses, encodeRound } from '../../wire/rev2026-07-28/client.ts';
import { askBy, type Lane, type OnItsWay } from '../lanes/lane.ts';

/** A server that asks before every answer will ask for ever. */
const MAX_ROUNDS = 10;
/** What may be answered by asking for something first, on 2026-07-28. */
const ASKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/**
 * Passes one request on to its upstream, and the answer back.
 * @throws the upstream's error as its client may see it; an internal error that says what is known, where no answer came
 */
export async function passOn(
  lane: Lane,
  method: string,
  params: JsonObject,
  call: FrontCall,
  { timeoutMs }: { timeoutMs?: number | undefined } = {},
): Promise<JsonObject> {
  const { era: to, signal, onProgress, sessionId } = call;
  const bySession = to === 'legacy' && lane.link.era === 'modern';
  const meta = bySession ? withLogLevel(call.meta, lane.levelOf(sessionId)) : call.meta;
  const own = Object.keys(meta).length > 0 ? { _meta: meta } : {};
  const send = (round: JsonObject): Promise<JsonObject> =>
    lane.link.request(
      method,
      { ...params, ...round, ...own },
      { signal, ...(onProgress && { onProgress }), ...(timeoutMs !== undefined && { timeoutMs }) },
    );
  return lane.during(onItsWay(call), async () => {
    try {
      const level = to === 'modern' ? logLevelIn(meta) : undefined;
      if (level !== undefined) await lane.wantLevel(level);
      let result = await send(lane.link.era === 'modern' ? call.round : {});
      if (to === 'legacy' && ASKING.has(method)) result = await answered(result, send, call);
      if (method === 'tools/call') result = await atLast(result, lane, signal);
      return relayedResult(method, result, to);
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof RemoteRefusedError && method === 'tools/call' && asksForTasks(error.rpc)) {
        throw new TaskNeededError(String(params.name));
      }
      const pages = error instanceof RemoteRefusedError ? pagesNeeded(error.rpc) : [];
      if (to === 'modern' && pages.length > 0 && call.caller.abilities.url === true) return askForPages(pages);
      throw told(error, lane, to);
    }
  });
}

/** What is logged meanwhile goes the way of the answer: to whom wants to hear it, which on 2026-07-28 each request says. */
function onItsWay({ ask, era, meta, notify }: FrontCall): OnItsWay {
  const hears = era === 'legacy' || logLevelIn(meta) !== undefined;
  const log = (params: JsonObject): void => void notify('notifications/message', params).catch(() => {}); // It is gone.
  return { ask, log: hears ? log : undefined };
}

/**
 * An upstream that puts long calls away for clients without tasks answers with a note of how to go on. Calls that are passed
 * through wait, so this side goes on by it.
 */
async function atLast(first: JsonObject, lane: Lane, signal: AbortSignal): Promise<JsonObject> {
  let result = first;
  let note = lane.server.repeatable ? decodeDetached(first) : undefined;
  while (note !== undefined) {
    const { taskId, status } = note;
    const use = (name: string, more: { signal?: AbortSignal } = {}): Promise<JsonObject> =>
      lane.link.request('tools/call', { name, arguments: { taskId } }, more);
    if (status === 'input_required') {
      await use(COMPANIONS.cancel);
      throw asThrown({ code: -32_603, message: 'the tool asks for something that its caller cannot be asked for' });
    }
    result = await use(COMPANIONS.wait, { signal }).catch(async (error: unknown) => {
      if (!signal.aborted) throw error;
      await use(COMPANIONS.cancel);
      throw error;
    });
    note = decodeDetached(result, taskId);
  }
  return result;
}

/** A client of a session is asked by requests what its upstream asks by answers. */
async function answered(
  first: JsonObject,
  send: (round: JsonObject) => Promise<JsonObject>,
  { ask, signal }: FrontCall,
): Promise<JsonObject> {
  let result = first;
  for (let rounds = 0; ; rounds += 1) {
    const round = roundIn(result);
    if (round === undefined) return result;
    if (rounds === MAX_ROUNDS) throw asThrown({ code: -32_603, message: `the server asked ${MAX_ROUNDS} times` });
    const { questions, state } = round;
    const answers = new Map<string, Answer>();
    for (const [key, question] of questions) answers.set(key, await answerOf(question, ask, signal));
    const { responses, unsaid } = encodeResponses(answers, questions);
    if (unsaid.length > 0) throw asThrown({ code: -1, message: `${unsaid.join(', ')}: refused by the client` });
    result = await send(encodeRound(responses, state));
  }
}

async function answerOf(question: Question, ask: FrontCall['ask'], signal: AbortSignal): Promise<Answer> {
  return ask === undefined ? { action: 'cancel' } : askBy(ask, question, signal);
}

function told(error: unknown, lane: Lane, to: Era): unknown {
  if (error instanceof RemoteRefusedError) {
    return asThrown(relayedError(error.rpc, to));
  }
  if (error instanceof RemoteUnreachableError) {
    const ran = error.mayHaveRun ? 'whether it ran is not known' : 'nothing ran';
    return asThrown({ code: -32_603, message: `${lane.server.origin}: ${error.message}; ${ran}` });
  }
  return error;
}
