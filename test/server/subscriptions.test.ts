import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { type Listener, listener } from './listener.ts';
import { serve } from './peer.ts';

const colour = z.object({ colour: z.string() });

/** Tools that go on when they are told to. */
function tools(tasks: Tasks, go: Promise<unknown> = Promise.resolve()): void {
  tasks.registerTool('paint', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    task.progress(1, 3, 'mixing');
    await go;
    const answer = await task.ask('colour', { message: 'Which colour?', schema: colour });
    return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : 'not painted');
  });
  tasks.registerTool('quick', {}, () => text('done'));
  tasks.registerTool('broken', {}, () => {
    throw new Error('the brush broke');
  });
  tasks.registerTool('wait', { task: { ttlMs: 60_000, onWorkerLost: 'rerun' } }, async (_args, task) => {
    await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve(), { once: true }));
    return text('too late');
  });
}

const paramsOf = (message: Json | undefined) => (message?.['params'] ?? {}) as Json;
const statusOf = (message: Json | undefined) => paramsOf(message)['status'] ?? message?.['method'] ?? 'result';
/** What `tasks/get` answers, as it is pushed. */
const pushed = ({ _meta, resultType: _type, ...task }: Json, { id }: Listener): Json => {
  const { 'io.modelcontextprotocol/serverInfo': _who, ...meta } = _meta as Json;
  return { ...task, _meta: { ...meta, 'io.modelcontextprotocol/subscriptionId': id } };
};

describe('a subscription to tasks', () => {
  it('begins with what was accepted, then says how each task stands [G3-S-43] [G3-S-45] [G3-S-83] [G3-S-84]', async () => {
    const { peer, reaches } = serve((tasks) => tools(tasks));
    const paint = await peer.start('paint');
    const quick = await peer.start('quick');
    await reaches(paint.taskId, 'input_required');
    await reaches(quick.taskId, 'completed');
    const stream = await listener(peer, { taskIds: [paint.taskId, 'nobody', quick.taskId, paint.taskId] });
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: { taskIds: [paint.taskId, quick.taskId] },
        _meta: { 'io.modelcontextprotocol/subscriptionId': stream.id },
      },
    });
    for (const { taskId } of [paint, quick]) {
      const params = pushed((await peer.get(taskId)).result, stream);
      expect(await stream.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/tasks', params });
    }
  });

  it('is told by its id, whatever characters that holds', async () => {
    const { peer } = serve((tasks) => tools(tasks));
    const { taskId } = await peer.start('quick');
    const id = 'one\u2028data: two';
    const stream = await listener(peer, { taskIds: [taskId], toolsListChanged: true }, { id });
    expect((await stream.next())?.['params']).toMatchObject({
      notifications: { taskIds: [taskId], toolsListChanged: true },
      _meta: { 'io.modelcontextprotocol/subscriptionId': id },
    });
    expect(paramsOf(await stream.next())).toMatchObject({ taskId });
  });

  it('tells every change as tasks/get would, then its result, and ends [G3-S-44] [G3-S-84] [G3-S-86]', async () => {
    const go = deferred();
    const { peer, clock, when } = serve((tasks) => tools(tasks, go.promise));
    const { taskId } = await peer.start('paint');
    const stream = await listener(peer, { taskIds: [taskId] });
    expect(statusOf(await stream.next())).toMatch(/acknowledged$/);
    const toldAsNow = async (status: string) => {
      const { result } = await peer.get(taskId);
      expect(result['status']).toBe(status);
      expect(paramsOf(await stream.next())).toEqual(pushed(result, stream));
    };
    await toldAsNow('working');
    clock.advance(100);
    await when(taskId, ({ statusMessage }) => statusMessage === '1/3 mixing');
    await toldAsNow('working');
    go.resolve();
    await when(taskId, ({ status }) => status === 'input_required');
    await toldAsNow('input_required');
    await peer.update(taskId, { colour: { action: 'accept', content: { colour: 'red' } } });
    await when(taskId, ({ status }) => status === 'completed');
    const rest = await stream.rest();
    const { result } = await peer.get(taskId);
    expect(rest.slice(0, -1).map(statusOf).at(-1)).toBe('completed');
    expect(paramsOf(rest.at(-2))).toEqual(pushed(result, stream));
    expect(rest.at(-1)).toEqual({
      jsonrpc: '2.0',
      id: stream.id,
      result: {
        resultType: 'complete',
        _meta: {
          'io.modelcontextprotocol/subscriptionId': stream.id,
          'io.modelcontextprotocol/serverInfo': { name: 'test-server', version: '1.2.3' },
        },
      },
    });
  });

  it('tells of tasks that are over once, and of failure, cancelling and expiry like of success [G3-S-44]', async () => {
    const { peer, clock, reaches } = serve((tasks) => tools(tasks));
    const [quick, broken, cancelled, expiring] = await Promise.all(
      ['quick', 'broken', 'wait', 'wait'].map((name) => peer.start(name)),
    );
    await reaches(quick!.taskId, 'completed');
    await reaches(broken!.taskId, 'failed');
    const taskIds = [quick, broken, cancelled, expiring].map((task) => task!.taskId);
    const stream = await listener(peer, { taskIds });
    const first = await Promise.all(Array.from({ length: 5 }, () => stream.next()));
    expect(first.map(statusOf).slice(1)).toEqual(['completed', 'failed', 'working', 'working']);
    await peer.cancel(cancelled!.taskId);
    expect(paramsOf(await stream.next())).toMatchObject({ taskId: cancelled!.taskId, status: 'cancelled' });
    await pass(clock, 61_000);
    const last = await stream.rest();
    expect(last.map(statusOf)).toEqual(['failed', 'result']);
    expect(paramsOf(last[0])).toMatchObject({ taskId: expiring!.taskId, error: { message: expect.any(String) } });
  });

  it('leaves out what is unknown, expired or of somebody else, all alike [G3-S-45]', async () => {
    const principal = { current: 'alice' };
    const { peer, clock, reaches } = serve((tasks) => tools(tasks), {
      server: { principal: () => ({ subject: principal.current }) },
    });
    const { taskId: foreign } = await peer.start('paint');
    await reaches(foreign, 'input_required');
    principal.current = 'mallory';
    const { taskId: expired } = await peer.start('wait');
    await pass(clock, 180_000);
    const unknown = foreign.replace(/.{4}$/, 'AAAA');
    const seen = new Set<string>();
    for (const taskId of [foreign, expired, unknown, '', 'x'.repeat(5_000)]) {
      const stream = await listener(peer, { taskIds: [taskId] });
      const all = await stream.rest();
      seen.add(JSON.stringify(all).replaceAll(String(stream.id), 'ID'));
      expect(paramsOf(all[0])['notifications']).toEqual({ taskIds: [] });
      expect(all).toHaveLength(2);
    }
    expect(seen.size).toBe(1);
    const { taskId: mine } = await peer.start('wait');
    const stream = await listener(peer, { taskIds: [foreign, mine] });
    expect(paramsOf(await stream.next())['notifications']).toEqual({ taskIds: [mine] });
    principal.current = 'alice';
    await peer.update(foreign, { colour: { action: 'decline' } });
    await reaches(foreign, 'completed');
    principal.current = 'mallory';
    await peer.cancel(mine);
    const rest = await stream.rest();
    expect(new Set(rest.slice(0, -1).map((message) => paramsOf(message)['taskId']))).toEqual(new Set([mine]));
  });

  it('says nothing of progress and logs, whatever the request asks for [G3-S-47] [G3-S-85]', async () => {
    const { peer, clock } = serve((tasks) =>
      tasks.registerTool('chatty', {}, async (_args, task) => {
        for (let n = 1; n <= 100; n += 1) {
          task.progress(n, 100);
          task.log(`line ${n}`, 'error');
        }
        await task.ask('colour', { message: 'Which colour?', schema: colour });
        return text('done');
      }),
    );
    const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
    const call = await peer.call('chatty', {}, { meta });
    expect(call.notifications).toEqual([]);
    const taskId = String(call.result['taskId']);
    const stream = await listener(peer, { taskIds: [taskId] }, { meta });
    await settle();
    clock.advance(1_000);
    await settle();
    await peer.cancel(taskId);
    const all = await stream.rest();
    const methods = new Set(all.slice(1, -1).map(({ method }) => method));
    expect(methods).toEqual(new Set(['notifications/tasks']));
  });

  it('ends quietly for a task that its owner deletes', async () => {
    const { peer, tasks, reaches } = serve((made) => tools(made));
    const { taskId } = await peer.start('paint');
    await reaches(taskId, 'input_required');
    const stream = await listener(peer, { taskIds: [taskId] });
    await stream.next();
    expect(statusOf(await stream.next())).toBe('input_required');
    await tasks.engine.delete(taskId, LOCAL_PRINCIPAL);
    expect((await stream.rest()).map(statusOf).at(-1)).toBe('result');
  });
});
