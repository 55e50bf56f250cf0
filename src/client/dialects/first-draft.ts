import { fingerprint, type JsonObject, newTaskId } from '../../core/index.ts';
import { toolResult } from '../../wire/peer-task.ts';
import { decodeTask, encodeAbout, encodeWish } from '../../wire/rev-sep-1686/client.ts';
import { createdTask, METHODS, REVISION } from '../../wire/rev-sep-1686/index.ts';
import { decodeResult } from '../../wire/rev2025-11-25/client.ts';
import { ProgressTokens } from '../progress.ts';
import type { Outcome, RemoteTask, Started, StartRequest } from '../remote.ts';
import { RemoteRefusedError } from '../remote-errors.ts';
import { unlessAborted } from '../unless-aborted.ts';
import {
  answeredWhereAsked,
  type Dialect,
  failedOutcome,
  listing,
  logReader,
  metaOf,
  ofTask,
  outcomeIn,
  read,
  type Speaking,
} from './dialect.ts';
import { canSubscribe, logBySubscribing } from './log-watch.ts';

/** A call whose task is known by this process: it is answered as well, in the end. */
interface Call {
  id: string;
  outcome: Promise<Outcome>;
  /** The answer, once it is there. */
  known?: Outcome;
}

/**
 * Servers that have tasks by the first draft. The id of a task is made here; the server says when the task is there, and
 * answers the call too when it is over. Whichever comes first counts.
 * @see SEP-1686
 */
export function firstDraft(speaking: Speaking): Dialect {
  const { connection, requestTimeoutMs: timeoutMs, random } = speaking;
  const tokens = new ProgressTokens(connection);
  const calls = new Map<string, Call>();
  const created = new Map<string, () => void>();
  connection.listen((message) => {
    const taskId = createdTask(message);
    const tell = taskId === undefined ? undefined : created.get(taskId);
    tell?.();
    return tell !== undefined;
  });

  const start = async (wanted: StartRequest): Promise<Started> => {
    const { name, arguments: args, idempotencyKey, ttlMs, signal, onProgress } = wanted;
    const taskId = speaking.repeatable ? taskIdOf(idempotencyKey) : newTaskId(random);
    const id = connection.nextId();
    const _meta: JsonObject = {
      ...metaOf(speaking, wanted),
      ...encodeWish(taskId, ttlMs),
      ...tokens.open(id, onProgress),
    };
    const there = new Promise<'created'>((resolve) => created.set(taskId, () => resolve('created')));
    // Not given up with its caller: the answer is that of the task, which goes on.
    const answer = connection.request('tools/call', { name, arguments: args, _meta }, { id });
    const outcome = answer.then(
      (result): Outcome => ({ status: 'completed', result: read(decodeResult(result)) }),
      failedOutcome,
    );
    const call: Call = { id, outcome };
    outcome.then(
      (known) => {
        call.known = known;
        tokens.answered(id);
      },
      () => tokens.answered(id), // Whoever waits for it is told.
    );
    try {
      const first = await unlessAborted(Promise.race([there, outcome]), signal);
      if (first !== 'created') return { kind: 'immediate', outcome: first };
      calls.set(taskId, call);
      return { kind: 'task', task: { taskId, status: 'working', questions: new Map() } };
    } finally {
      created.delete(taskId);
    }
  };

  const get = async (taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<RemoteTask> => {
    const asking = { timeoutMs, signal, hangUp: true };
    const task = read(decodeTask(await ofTask(connection.request(METHODS.get, encodeAbout(taskId), asking)), taskId));
    // The call's own answer says more than the task: the code and the data of an error.
    const known = calls.get(taskId)?.known;
    return known !== undefined && known.status === task.status ? { ...task, outcome: known } : task;
  };

  const outcome = async (taskId: string, options: { signal?: AbortSignal } = {}): Promise<Outcome> => {
    const task = await get(taskId, options);
    if (task.outcome !== undefined || task.status !== 'completed') return outcomeIn(task);
    const asking = { timeoutMs, signal: options.signal, hangUp: true };
    const result = await ofTask(connection.request(METHODS.result, encodeAbout(taskId), asking));
    return { status: 'completed', result: toolResult(result) };
  };

  return {
    revision: REVISION,
    ...listing(speaking),
    ...logReader(speaking),
    ...(canSubscribe(speaking) && { watchLog: logBySubscribing(connection, timeoutMs) }),
    start,
    get,
    outcome,
    answer: answeredWhereAsked,
    async delete(taskId) {
      await ofTask(connection.request(METHODS.delete, encodeAbout(taskId), { timeoutMs }));
      calls.delete(taskId);
    },
    async cancel(taskId) {
      const call = calls.get(taskId);
      if (call !== undefined) return connection.notify('notifications/cancelled', { requestId: call.id });
      await get(taskId);
      const message = 'on the first draft of tasks only the connection that made a call can cancel it';
      throw new RemoteRefusedError({ code: -32601, message });
    },
  };
}

/** The same call again has the same task: servers of ours refuse a key that comes with another id. */
function taskIdOf(idempotencyKey: string): string {
  return `tsk_${fingerprint(`task of ${idempotencyKey}`, 'base64url', 32)}`;
}
