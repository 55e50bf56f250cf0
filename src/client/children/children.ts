import { type JobEnd, type JsonObject, NonRetryableError } from '../../core/index.ts';
import { supportOf } from '../../engine/child-support.ts';
import { runJob, type TaskContext } from '../../engine/index.ts';
import { resultOf } from '../call.ts';
import type { CallEnd } from '../call-state.ts';
import { childJob } from '../child-job.ts';
import type { CallOptions, ConnectedServer } from '../connected-server.ts';

export type ChildOptions = Pick<CallOptions, 'ttlMs'>;

/**
 * Calls a tool of a server from the handler of a task, and returns its result, also one with `isError`. The call is a child of the
 * task: made once, however often the handler starts again, and followed on while nobody runs it; cancelled with the task; what it
 * asks is asked by the task, naming the server and the tool. It carries the trace of the request that made the task, and no id of it.
 * The server's client has to be opened with `tasks`. In a tool that is never a task the call lives and dies with the request.
 * @param task the handler's second argument
 * @throws as `Call.result`; {@link TypeError} naming what of the call is wrong
 */
export async function callTool(
  task: TaskContext,
  server: ConnectedServer,
  name: string,
  args: JsonObject = {},
  options: ChildOptions = {},
): Promise<JsonObject> {
  const call = { name, arguments: args };
  if (supportOf(task) === undefined) {
    const made = await server.callTool(call, { ...options, signal: task.signal });
    try {
      return await made.result();
    } finally {
      await made.acknowledge(); // Whichever end it was: the handler has it.
    }
  }
  const label = `${server.name}/${name}`;
  const job = childJob({
    server: () => server,
    endOf: (how, callId) => ({ state: 'done', outcome: 'ok', result: { callId, end: how as unknown as JsonObject } }),
  });
  let end: JobEnd;
  try {
    end = await runJob(job, { ...call, options }, task, {
      name: `call ${label}`,
      origin: `${server.origin}, ${label}`,
      tells: false,
    });
  } catch (error) {
    throw error instanceof NonRetryableError && error.cause instanceof TypeError ? error.cause : error;
  }
  if (end.state !== 'done' || !('result' in end)) throw new Error(`the call of ${label} was lost before it was made`);
  const { callId, end: how } = end.result as unknown as { callId: string; end: CallEnd };
  return resultOf(callId, how);
}
