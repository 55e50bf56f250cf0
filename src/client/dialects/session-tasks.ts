import type { JsonObject } from '../../core/index.ts';
import { isOver, toolResult } from '../../wire/peer-task.ts';
import { decodeCallAnswer, decodePush, decodeResult, decodeTask, encodeWish } from '../../wire/rev2025-11-25/client.ts';
import { METHODS } from '../../wire/rev2025-11-25/index.ts';
import { ProgressTokens } from '../progress.ts';
import type { Outcome, RemoteTask, Started, StartRequest } from '../remote.ts';
import { RemoteProtocolError, RemoteRefusedError } from '../remote-errors.ts';
import { ToolSupport } from '../tool-support.ts';
import {
  answeredWhereAsked,
  type Dialect,
  endedOtherwise,
  immediate,
  isInvalidParams,
  listing,
  logReader,
  metaOf,
  ofTask,
  read,
  type Speaking,
} from './dialect.ts';
import { canSubscribe, logBySubscribing } from './log-watch.ts';

/**
 * Servers with the tasks of 2025-11-25. Every tool that may run as a task is asked to, since whoever calls means to be able
 * to come back.
 * @see 2025-11-25 tasks
 */
export function sessionTasks(speaking: Speaking): Dialect {
  const { connection, requestTimeoutMs: timeoutMs } = speaking;
  const tokens = new ProgressTokens(connection);
  const tools = new ToolSupport(connection, timeoutMs);
  /** Tasks of which there was a push. Nothing declares that there will be any: servers that push show it by doing so. */
  const pushed = new Set<string>();

  const call = async (wanted: StartRequest, asTask: boolean): Promise<Started> => {
    const { name, arguments: args, ttlMs, signal, onProgress } = wanted;
    const unwanted = asTask ? undefined : wanted.unwanted; // A task has an id to be cancelled by, in a moment.
    const id = connection.nextId();
    const _meta = { ...metaOf(speaking, wanted), ...tokens.open(id, onProgress) };
    const params: JsonObject = { name, arguments: args, ...(asTask && encodeWish(ttlMs)), _meta };
    let taskId: string | undefined;
    try {
      const said = await connection.request('tools/call', params, { id, signal, unwanted });
      if (!asTask) return immediate(read(decodeResult(said)));
      const answer = read(decodeCallAnswer(said));
      if (answer.kind === 'result') return immediate(answer.result);
      taskId = answer.task.taskId;
      return { kind: 'task', task: answer.task };
    } finally {
      tokens.answered(id, taskId);
    }
  };

  const start = async (wanted: StartRequest): Promise<Started> => {
    const mayBeTask = async (): Promise<boolean> => ((await tools.of(wanted.name)) ?? 'forbidden') !== 'forbidden';
    const asTask = await mayBeTask();
    try {
      return await call(wanted, asTask);
    } catch (error) {
      if (!saysOtherwise(error)) return endedOtherwise(error, wanted);
      // Nothing was done: there is no such tool, or it is one that is called the other way since its server last listed it.
      tools.forget();
      if ((await mayBeTask()) === asTask) throw error;
      try {
        return await call(wanted, !asTask);
      } catch (again) {
        return endedOtherwise(again, wanted);
      }
    }
  };

  const get = async (taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<RemoteTask> => {
    const asking = { timeoutMs, signal, hangUp: true };
    const task = read(decodeTask(await ofTask(connection.request(METHODS.get, { taskId }, asking)), taskId));
    if (isOver(task.status)) tokens.over(taskId);
    return task;
  };

  /** Waits, if it is not over: the questions of the task come meanwhile, and are answered on the side. */
  const outcome = async (taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<Outcome> => {
    try {
      const result = await connection.request(METHODS.result, { taskId }, { signal, hangUp: true });
      tokens.over(taskId);
      return { status: 'completed', result: toolResult(result) };
    } catch (error) {
      if (!(error instanceof RemoteRefusedError)) throw error;
      // The error of a task that failed looks like one of the request itself; what the task says tells them apart.
      const task = await get(taskId, { ...(signal && { signal }) });
      if (task.outcome !== undefined) return task.outcome;
      if (!isOver(task.status)) throw error;
      return { status: 'failed', error: error.rpc };
    }
  };

  return {
    revision: '2025-11-25',
    ...listing(speaking),
    start,
    get,
    outcome,
    async cancel(taskId) {
      try {
        await connection.request(METHODS.cancel, { taskId }, { timeoutMs });
        tokens.over(taskId);
      } catch (error) {
        // The same code for a task that is over as for one that is not there.
        if (!isInvalidParams(error)) throw error;
        if (!isOver((await get(taskId)).status))
          throw new RemoteProtocolError('an open task that cannot be cancelled', { cause: error });
      }
    },
    answer: answeredWhereAsked,
    ...logReader(speaking),
    ...(canSubscribe(speaking) && { watchLog: logBySubscribing(connection, timeoutMs) }),
    watch(taskIds, onTask, onPushed) {
      const wanted = new Set(taskIds);
      onPushed(pushed);
      return connection.listen((message) => {
        const task = decodePush(message);
        if (task === undefined || !wanted.has(task.taskId)) return false;
        if (isOver(task.status)) pushed.delete(task.taskId);
        else if (!pushed.has(task.taskId)) onPushed(pushed.add(task.taskId));
        onTask(task);
        return true;
      });
    },
  };
}

/** Servers refuse a call with a task that there cannot be, or without one that there has to be, by either of two codes. */
function saysOtherwise(error: unknown): error is RemoteRefusedError {
  return error instanceof RemoteRefusedError && (error.rpcCode === -32601 || error.rpcCode === -32600);
}
