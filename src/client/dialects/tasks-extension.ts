import {
  type Answer,
  canonicalJson,
  type JsonObject,
  type JsonValue,
  type Question,
  Recent,
} from '../../core/index.ts';
import {
  asksForTasks,
  decodeCallAnswer,
  decodePlainAnswer,
  decodeTask,
  encodeEnvelope,
  encodeResponses,
  encodeRound,
  encodeUpdate,
  offersTasks,
} from '../../wire/rev2026-07-28/client.ts';
import { encodeRelated, LISTEN_METHOD, METHODS } from '../../wire/rev2026-07-28/index.ts';
import type { Asking } from '../connection.ts';
import { ProgressTokens } from '../progress.ts';
import type { RemoteTask, Started, StartRequest } from '../remote.ts';
import { RemoteProtocolError, RemoteRefusedError } from '../remote-errors.ts';
import { listTools } from '../tool-list.ts';
import { unlessAborted } from '../unless-aborted.ts';
import {
  type Dialect,
  endedOtherwise,
  immediate,
  isInvalidParams,
  logReader,
  metaOf,
  ofTask,
  outcomeIn,
  read,
  type Speaking,
} from './dialect.ts';
import { canSubscribe, logByListening } from './log-watch.ts';
import { subscribe } from './subscription.ts';

/** A server that asks before every answer will ask for ever. */
const MAX_ROUNDS = 10;
/** Of so many tasks it is remembered what they asked under which key. */
const MAX_REMEMBERED = 1_000;

/**
 * Servers of 2026-07-28, with the tasks extension or without. Those that did not offer it are not told that we know it,
 * unless they refuse a call for the lack of that.
 * @see ext-tasks 2026-07-28
 */
export function tasksExtension(speaking: Speaking): Dialect {
  const { connection, mirroring, client, abilities, version, onQuestion, requestTimeoutMs, logger } = speaking;
  const { capabilities } = speaking;
  let tasks = offersTasks(capabilities);
  const tokens = new ProgressTokens(connection);
  const asked = new Recent<string, Map<string, string>>(MAX_REMEMBERED);
  const open = new Recent<string, ReadonlyMap<string, Question>>(MAX_REMEMBERED);

  const request = (method: string, params: JsonObject, asking: Asking = {}): Promise<JsonObject> => {
    const { _meta, ...rest } = params;
    const own = encodeEnvelope({ client, abilities, tasks, version });
    return mirroring.request(method, { ...rest, _meta: { ...(_meta as JsonObject), ...own } }, asking);
  };
  const brief = (signal?: AbortSignal): Asking => ({ timeoutMs: requestTimeoutMs, signal, hangUp: true });

  const call = async (params: JsonObject, asking: Asking): Promise<JsonObject> => {
    try {
      return await request('tools/call', params, asking);
    } catch (error) {
      if (tasks || !(error instanceof RemoteRefusedError) || !asksForTasks(error.rpc)) throw error;
      tasks = true;
      return await request('tools/call', params, { ...asking, id: connection.nextId() });
    }
  };

  const start = async (wanted: StartRequest): Promise<Started> => {
    const { name, arguments: args, relatedTaskIds = [], signal, unwanted, onProgress } = wanted;
    let round: JsonObject = {};
    for (let rounds = 0; rounds <= MAX_ROUNDS; rounds += 1) {
      const id = connection.nextId();
      const _meta = { ...metaOf(speaking, wanted), ...tokens.open(id, onProgress), ...encodeRelated(relatedTaskIds) };
      let taskId: string | undefined;
      try {
        // Not hung up on when its caller gives up: that would cancel what may be running.
        const result = await call({ name, arguments: args, ...round, _meta }, { id, signal, unwanted });
        const answer = read(decodeCallAnswer(result));
        if (answer.kind === 'result') return immediate(answer.result);
        if (answer.kind === 'task') {
          if (!tasks) throw new RemoteProtocolError('a task, though this request declared none');
          taskId = answer.task.taskId;
          return { kind: 'task', task: answer.task };
        }
        const responses = await answersTo(answer.questions, anyOf(signal, unwanted));
        round = encodeRound(responses, answer.state);
      } catch (error) {
        return endedOtherwise(error, wanted);
      } finally {
        tokens.answered(id, taskId);
      }
    }
    throw new RemoteProtocolError(`the server asked ${MAX_ROUNDS} times and did not begin`);
  };

  const answersTo = async (questions: ReadonlyMap<string, Question>, signal?: AbortSignal): Promise<JsonObject> => {
    const never = new AbortController().signal;
    const ask = async (question: Question): Promise<Answer> =>
      onQuestion === undefined
        ? { action: 'cancel' }
        : await onQuestion({ taskId: undefined, question, signal: signal ?? never });
    const pairs = [...questions].map(async ([key, question]) => [key, await ask(question)] as const);
    const { responses, unsaid } = encodeResponses(new Map(await unlessAborted(Promise.all(pairs), signal)), questions);
    if (unsaid.length === 0) return responses;
    throw new RemoteRefusedError({
      code: -1,
      message: `${unsaid.join(', ')}: refused on this side, so the call cannot be`,
    });
  };

  const forget = (taskId: string): void => {
    asked.delete(taskId);
    open.delete(taskId);
    tokens.over(taskId);
  };

  /** The same key never asks something else: answers already given would mean something else too. */
  const sameQuestions = async ({ taskId, questions, outcome }: RemoteTask): Promise<void> => {
    if (outcome !== undefined) return forget(taskId);
    open.set(taskId, questions);
    const before = asked.get(taskId) ?? new Map<string, string>();
    asked.set(taskId, before);
    for (const [key, question] of questions) {
      const now = canonicalJson(question as unknown as JsonValue);
      const was = before.get(key) ?? now;
      before.set(key, was);
      if (was === now) continue;
      await cancel(taskId).catch((error: unknown) => logger.warn({ error }, 'a task that is given up goes on'));
      throw new RemoteProtocolError(`inputRequests.${key}: asks something else than before under the same key`);
    }
  };

  /** Whoever learns the end of a task from a push never asks for it. */
  const told =
    (onTask: (task: RemoteTask) => void) =>
    (task: RemoteTask): void => {
      if (task.outcome !== undefined) forget(task.taskId);
      else open.set(task.taskId, task.questions);
      onTask(task);
    };

  const get = async (taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<RemoteTask> => {
    const result = await ofTask(request(METHODS.get, { taskId }, brief(signal)));
    const task = read(decodeTask(read(decodePlainAnswer(result)), taskId));
    await sameQuestions(task);
    return task;
  };

  const cancel = async (taskId: string): Promise<void> => {
    read(decodePlainAnswer(await ofTask(request(METHODS.cancel, { taskId }, brief()))));
    tokens.over(taskId);
  };

  return {
    get revision() {
      return tasks ? '2026-07-28' : 'none';
    },
    listTools: ({ signal } = {}) => listTools({ capabilities, requestTimeoutMs, request }, signal),
    start,
    get,
    cancel,
    outcome: async (taskId, options) => outcomeIn(await get(taskId, options)),
    async answer(taskId, answers) {
      // Whoever did not see them asked, or heard of them by a push, learns what they are: an answer fits its question only.
      const known = open.get(taskId);
      const knowsAll = known !== undefined && [...answers.keys()].every((key) => known.has(key));
      const questions = knowsAll ? known : (await get(taskId)).questions;
      const { responses, unsaid } = encodeResponses(answers, questions);
      // A model or roots that are refused cannot be said here, and nobody else can give them: the task would wait for ever.
      if (unsaid.length > 0) return cancel(taskId);
      if (Object.keys(responses).length === 0) return;
      try {
        read(decodePlainAnswer(await request(METHODS.update, encodeUpdate(taskId, responses), brief())));
      } catch (error) {
        if (isInvalidParams(error)) await get(taskId); // Throws if it is the task that is not there.
        throw error;
      }
    },
    ...logReader(speaking, request),
    ...(canSubscribe(speaking) && {
      watchLog: logByListening(speaking, (params, asking) => request(LISTEN_METHOD, params, asking)),
    }),
    ...(tasks && {
      watch: (...[taskIds, onTask, onPushed]: Parameters<NonNullable<Dialect['watch']>>) =>
        subscribe({ taskIds, onTask: told(onTask), onPushed }, speaking, (params, asking) =>
          request(LISTEN_METHOD, params, asking),
        ),
    }),
  };
}

function anyOf(...signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}
