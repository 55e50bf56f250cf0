import {
  type Answer,
  type Clock,
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type Logger,
  type Question,
  type RandomSource,
  Recent,
  retryReadDelayMs,
} from '../../core/index.ts';
import { decodeQuestion, encodeReply } from '../../wire/asked.ts';
import { relatedTaskOf } from '../../wire/rev2025-11-25/client.ts';
import type { TaskRequest } from '../../wire/rev2025-11-25/client-tasks.ts';
import type { Connection } from '../connection.ts';
import type { OnQuestion } from '../remote.ts';
import { RemoteUnreachableError } from '../remote-errors.ts';
import type { AskedTasks, Reply } from './asked-tasks.ts';
import { fitting } from './misfit.ts';

/** Of so many questions it is remembered what they were answered with, in case they come again. */
const MAX_REMEMBERED = 1_000;
/** An answer that did not arrive by then is one to nobody. */
const MAX_TRIES = 20;
const INVALID_PARAMS = -32602;

export interface Answering {
  onQuestion: OnQuestion;
  /** Where questions go that are asked as tasks; undefined: none was declared to be. */
  asTasks: AskedTasks | undefined;
  /** What was answered before, also on connections to the same server that are gone. */
  answered: Answered;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

export type Answered = Recent<string, Reply>;

export function nothingAnswered(): Answered {
  return new Recent(MAX_REMEMBERED);
}

/**
 * Questions that a server before 2026-07-28 asks as requests. A server that does not know whether its request arrived sends
 * it again under the same id: it is asked once all the same, and its answer sent again.
 * @returns stops it; what is still being asked is aborted
 */
export function answerQuestions(connection: Connection, answering: Answering): () => void {
  const { onQuestion, asTasks, answered, clock, random, logger } = answering;
  const open = new Map<unknown, { id: string | number; asking: AbortController }>();
  let stopped = false;

  /** Until it has arrived: a server that asked and has its stream still does not ask again by itself. */
  const send = (id: string | number, reply: Reply, failures = 0): void => {
    if (stopped) return;
    connection.reply(id, reply).catch((error: unknown) => {
      logger.debug({ error, failures }, 'an answer could not be sent');
      const unreachable = error instanceof RemoteUnreachableError;
      if (!unreachable || connection.closed || failures >= MAX_TRIES) return; // On another connection it is asked again.
      const delayMs = retryReadDelayMs(failures + 1, error.retryAfterMs, random);
      clock.setTimer(delayMs, () => send(id, reply, failures + 1));
    });
  };
  const ask = async (same: string, id: string | number, question: Question, params: unknown): Promise<void> => {
    const asking = new AbortController();
    open.set(same, { id, asking });
    const related = relatedTaskOf(params);
    try {
      const answer = await onQuestion({ taskId: related?.taskId, question, signal: asking.signal });
      if (asking.signal.aborted) return; // Taken back: there is nobody to answer.
      const reply = tied(encodeReply(question, fitting(question, answer)), related?.meta);
      answered.set(same, reply);
      send(id, reply);
    } catch (error) {
      if (asking.signal.aborted) return;
      logger.error({ error }, 'a question could not be answered');
      send(id, tied(encodeReply(question, { action: 'cancel' } satisfies Answer), related?.meta));
    } finally {
      open.delete(same);
    }
  };

  /** A question that becomes a task becomes one once; what is asked about tasks is answered as often as it is asked. */
  const serve = async (same: string, id: string | number, request: TaskRequest, message: JsonObject): Promise<void> => {
    const asking = new AbortController();
    const creates = request.kind === 'create';
    const key = creates ? same : asking;
    open.set(key, { id, asking });
    try {
      const reply = await (asTasks as AskedTasks).reply(request, message, asking.signal);
      const told = creates ? tied(reply, relatedTaskOf(message.params)?.meta) : reply;
      if (creates) answered.set(same, told);
      send(id, told);
    } catch (error) {
      if (!asking.signal.aborted) throw error;
    } finally {
      open.delete(key);
    }
  };

  const stop = connection.listen((message) => {
    const { method, params, id } = message;
    if (method === 'notifications/cancelled' && isJsonObject(params)) {
      const taken = [...open.values()].filter((one) => one.id === params.requestId);
      for (const { asking } of taken) asking.abort(new Error('the server took the question back'));
      return taken.length > 0;
    }
    if (typeof id !== 'string' && typeof id !== 'number') return false;
    const aboutTasks = asTasks?.read(message);
    const question = decodeQuestion(method, params);
    if (aboutTasks === undefined && question === undefined) return false;
    // Servers that make an instance for every request count from the start in each: the id alone says too little.
    const same = canonicalJson([id, method ?? null, params ?? null]);
    const before = aboutTasks === undefined || aboutTasks.kind === 'create' ? answered.get(same) : undefined;
    if (before !== undefined) send(id, before);
    else if (aboutTasks !== undefined) {
      if (!open.has(same)) void serve(same, id, aboutTasks, message);
    } else if (question?.ok === false) {
      send(id, { error: { code: INVALID_PARAMS, message: `params.${question.message}` } });
    } else if (question !== undefined && !open.has(same)) void ask(same, id, question.value, params);
    return true;
  });
  return () => {
    stopped = true;
    stop();
    for (const { asking } of open.values()) asking.abort(new Error('the connection was closed'));
  };
}

/** An answer to a question of a task says which task. @see 2025-11-25 tasks, "Associating Task-Related Messages" */
function tied(reply: Reply, meta: JsonObject | undefined): Reply {
  if (meta === undefined || !('result' in reply)) return reply;
  const own = isJsonObject(reply.result._meta) ? reply.result._meta : {};
  return { result: { ...reply.result, _meta: { ...own, ...meta } } };
}
