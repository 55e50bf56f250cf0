import { onTestFinished } from 'vitest';
import { type ConnectOptions, connectRemote, type RemoteOptions } from '../../src/client/connect-remote.ts';
import type { Outcome, Remote, RemoteTask } from '../../src/client/remote.ts';
import type { Served } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';

/** Over HTTP within this process; every answer is held against the rules of its revision. */
export async function remoteOf(
  served: Pick<Served, 'server' | 'validator'>,
  options: RemoteOptions & { sent?: Request[] } = {},
): Promise<Remote> {
  const { sent, ...rest } = options;
  const checked = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    sent?.push(request.clone());
    return checked(request);
  };
  return connected({ url: 'http://127.0.0.1/mcp', http: { fetch }, ...rest } as ConnectOptions);
}

export async function connected(options: ConnectOptions): Promise<Remote> {
  const remote = await connectRemote(options);
  onTestFinished(() => remote[Symbol.asyncDispose]());
  return remote;
}

let calls = 0;

export function start(remote: Remote, name: string, args: Json = {}) {
  calls += 1;
  return remote.start({ name, arguments: args as never, idempotencyKey: `key-${calls}` });
}

/** Calls a tool that becomes a task. */
export async function startTask(remote: Remote, name: string, args: Json = {}): Promise<RemoteTask> {
  const started = await start(remote, name, args);
  if (started.kind !== 'task') throw new Error(`no task: ${JSON.stringify(started)}`);
  return started.task;
}

/** Calls a tool that answers at once. */
export async function atOnce(remote: Remote, name: string, args: Json = {}): Promise<Outcome> {
  const started = await start(remote, name, args);
  if (started.kind !== 'immediate') throw new Error(`a task: ${started.task.taskId}`);
  return started.outcome;
}

/** How the task ended, once the server says that it has. */
export async function ended(remote: Remote, { taskId }: RemoteTask, over: Promise<unknown>): Promise<Outcome> {
  await over;
  const { outcome } = await remote.get(taskId);
  return outcome ?? remote.outcome(taskId);
}
