import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { serveTaskStream } from '../../src/server/index.ts';
import { deferred, settle, someTasks } from '../support/engine.ts';
import { LinePeer } from '../support/line-peer.ts';
import type { Json } from '../support/messages.ts';
import { socketPair } from '../support/socket-pair.ts';
import { closing, validated } from './peer.ts';

const colour = z.object({ colour: z.string() });
const paramsOf = (message: Json) => (message['params'] ?? {}) as Json;

/** An engine with a tool that waits and one that asks, and as many clients as are wanted. */
function anEngine() {
  const { tasks, clock } = someTasks();
  const running: TaskContext[] = [];
  const started = deferred<TaskContext>();
  tasks.registerTool('wait', { task: { onWorkerLost: 'resume' } }, async (_args, task) => {
    running.push(task);
    started.resolve(task);
    await new Promise((resolve) => task.signal.addEventListener('abort', resolve));
    return text('told to stop');
  });
  tasks.registerTool('ask', {}, async (_args, task) => {
    const answer = await task.ask('colour', { message: 'Which colour?', schema: colour });
    return text(answer.action === 'accept' ? answer.content.colour : answer.action);
  });
  onTestFinished(() => closing(tasks, clock));
  const validator = validated();
  return {
    tasks,
    clock,
    running,
    started: started.promise,
    async client() {
      const [near, far] = await socketPair();
      const served = serveTaskStream(tasks, () => new McpServer({ name: 'streamed', version: '1' }), {
        input: far,
        output: far,
      });
      return { near, far, served, peer: new LinePeer({ input: near, output: near }, validator) };
    },
  };
}

const statusOf = async (tasks: Tasks, taskId: string) => (await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status;

describe('on a pair of streams, a client', () => {
  it('calls, follows by a subscription and answers: 2026-07-28 [G3-S-43] [G3-S-86]', async () => {
    const { client } = anEngine();
    const { peer } = await client();
    const { result } = await peer.call('ask');
    const taskId = String(result['taskId']);
    peer.write({ ...peer.request('subscriptions/listen', { notifications: { taskIds: [taskId] } }), id: 'l' });
    await peer.first((message) => paramsOf(message)['status'] === 'input_required');
    const inputResponses = { colour: { action: 'accept', content: { colour: 'red' } } };
    await peer.send('tasks/update', { taskId, inputResponses });
    const done = await peer.first((message) => paramsOf(message)['status'] === 'completed');
    expect(paramsOf(done)).toMatchObject({ result: { content: [{ text: 'red' }] } });
    await peer.first(({ id, result: last }) => id === 'l' && last !== undefined);
  });

  it('is asked on it, and its answer is taken: 2025-11-25', async () => {
    const { client } = anEngine();
    const { peer } = await client();
    const session = await peer.initialize({ elicitation: { form: {} } });
    expect(session.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'streamed' } });
    const call = peer.ask({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'ask', arguments: {} } });
    const question = await peer.first(({ method }) => method === 'elicitation/create');
    peer.write({ jsonrpc: '2.0', id: question['id'], result: { action: 'accept', content: { colour: 'blue' } } });
    expect(await call).toMatchObject({ result: { content: [{ text: 'blue' }] } });
  });

  it('has neither signals nor process touched', async () => {
    const before = ['SIGTERM', 'SIGINT'].map((signal) => process.listenerCount(signal));
    const { client } = anEngine();
    const { peer, near, served } = await client();
    await peer.send('tools/list', {});
    expect(['SIGTERM', 'SIGINT'].map((signal) => process.listenerCount(signal))).toEqual(before);
    near.end();
    await served.closed;
    expect(process.exitCode).toBeUndefined();
  });
});

describe('on a pair of streams, a client that goes', () => {
  it.each(['end', 'destroy'] as const)('by %s leaves the engine and the other clients as they are', async (how) => {
    const { client, tasks, started } = anEngine();
    const one = await client();
    const other = await client();
    const { result } = await one.peer.call('wait');
    const task = await started;
    one.near[how]();
    await one.served.closed;
    const taskId = String(result['taskId']);
    expect(await other.peer.send('tasks/get', { taskId })).toMatchObject({ result: { status: 'working' } });
    expect(task.signal.aborted).toBe(false);
    await other.peer.send('tasks/cancel', { taskId });
    expect(await statusOf(tasks, taskId)).toBe('cancelled');
  });

  it.each(['2026-07-28', '2025-11-25'])('while it waits for a result has cancelled nothing: %s', async (version) => {
    const { client, tasks, started } = anEngine();
    const { peer, near, served } = await client();
    const params = { name: 'wait', arguments: {} };
    if (version === '2025-11-25') {
      await peer.initialize();
      peer.write({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    } else {
      await peer.send('tools/list', {}, {});
      peer.write(peer.request('tools/call', params, {}));
    }
    const { id, signal } = await started;
    near.destroy();
    await served.closed;
    await settle();
    expect(signal.aborted).toBe(false);
    expect(await statusOf(tasks, id)).toBe('working');
  });

  it('has cancelled what it took back before it went', async () => {
    const { client, started, clock } = anEngine();
    const { peer, near } = await client();
    await peer.send('tools/list', {}, {});
    peer.write({ ...peer.request('tools/call', { name: 'wait', arguments: {} }, {}), id: 'c' });
    const { signal } = await started;
    const stopped = once(signal, 'abort');
    peer.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    near.end();
    while (!signal.aborted) {
      clock.advance(1_000);
      await settle(1);
    }
    await stopped;
  });
});

describe('on a pair of streams, a connection that is closed here', () => {
  it('ends its subscriptions, and leaves streams and engine to their owners', async () => {
    const { client } = anEngine();
    const one = await client();
    const other = await client();
    const { result } = await one.peer.call('ask');
    const notifications = { taskIds: [result['taskId']] };
    one.peer.write({ ...one.peer.request('subscriptions/listen', { notifications }), id: 'l' });
    await one.peer.first((message) => paramsOf(message)['status'] === 'input_required');
    await one.served.close();
    await one.peer.first(({ id, result: last }) => id === 'l' && last !== undefined);
    expect(one.far.destroyed).toBe(false);
    expect(one.far.listenerCount('data')).toBe(0);
    expect(await other.peer.send('tools/list', {})).toHaveProperty('result.tools');
    await one.served.closed;
    await one.served.close(); // Again does nothing.
  });
});
