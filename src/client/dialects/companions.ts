import type { JsonObject } from '../../core/index.ts';
import { COMPANIONS, decodeDetached, encodeAnswer, saysUnknown } from '../../wire/companions.ts';
import { decodeResult } from '../../wire/rev2025-11-25/client.ts';
import type { RemoteTask } from '../remote.ts';
import { RemoteGoneError, RemoteRefusedError } from '../remote-errors.ts';
import { type Dialect, logReader, outcomeIn, read, type Speaking } from './dialect.ts';
import { canSubscribe, logBySubscribing } from './log-watch.ts';
import { plain } from './plain.ts';

/**
 * Servers that tell tasks to those who know none: a call that takes long is answered with a note, and tools of theirs go on
 * from there. What failed or was cancelled is told in words, as a result with `isError`.
 */
export function companions(speaking: Speaking): Dialect {
  const { connection, requestTimeoutMs: timeoutMs } = speaking;
  const calls = plain(speaking);

  const use = async (name: string, args: JsonObject, signal?: AbortSignal): Promise<JsonObject> => {
    const said = await connection.request('tools/call', { name, arguments: args }, { timeoutMs, signal });
    const result = read(decodeResult(said));
    if (saysUnknown(result)) throw new RemoteGoneError('the server knows no such task');
    return result;
  };

  const get = async (taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<RemoteTask> => {
    const result = await use(COMPANIONS.result, { taskId }, signal);
    const open = decodeDetached(result, taskId);
    return open ?? { taskId, status: 'completed', questions: new Map(), outcome: { status: 'completed', result } };
  };

  return {
    revision: 'companions',
    listTools: calls.listTools,
    get,
    async start(request) {
      const started = await calls.start(request);
      if (started.kind !== 'immediate' || started.outcome.status !== 'completed') return started;
      const task = decodeDetached(started.outcome.result);
      return task === undefined ? started : { kind: 'task', task };
    },
    outcome: async (taskId, options) => outcomeIn(await get(taskId, options)),
    async answer(taskId, answers) {
      for (const [key, answer] of answers) {
        const { isError, content } = await use(COMPANIONS.answer, encodeAnswer(taskId, key, answer));
        if (isError !== true) continue;
        throw new RemoteRefusedError({
          code: -32602,
          message: `${key}: the answer was not taken`,
          data: content ?? null,
        });
      }
    },
    async cancel(taskId) {
      await use(COMPANIONS.cancel, { taskId });
    },
    async delete(taskId) {
      const { isError, content } = await use(COMPANIONS.delete, { taskId });
      if (isError !== true) return;
      throw new RemoteRefusedError({ code: -32602, message: 'the task was not deleted', data: content ?? null });
    },
    ...logReader(speaking),
    ...(canSubscribe(speaking) && { watchLog: logBySubscribing(connection, timeoutMs) }),
  };
}
