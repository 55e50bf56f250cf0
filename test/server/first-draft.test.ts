import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { answerOf, augmented, draftPeer, isCreated, RELATED, related, startDraft } from './draft-peer.ts';
import { isAnswer, LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// The first draft of tasks (SEP-1686), as sessions before 2025-11-25 have it where a server speaks it.

const NOT_FOUND = { code: -32602, message: 'Task not found' };

function aServer(firstDraft = true, slots = 64) {
  const gate = deferred();
  const served = serve(
    (tasks: Tasks) => {
      tasks.registerTool('quick', {}, () => text('done'));
      tasks.registerTool('slow', {}, async (_args, task) => {
        task.progress(1, 2, 'half');
        await gate.promise;
        return text('done at last');
      });
      tasks.registerTool('never', { task: { support: 'forbidden' } }, () => text('inline'));
      tasks.registerTool('needs', { task: { support: 'required' } }, () => text('as a task'));
      const either = z.union([z.object({ a: z.string() }), z.array(z.number())]);
      tasks.registerTool('either', { outputSchema: either }, () => ({ structuredContent: { a: 'b' } }));
      tasks.registerTool('reports', {}, () => ({ ...text('no such film'), isError: true }));
      tasks.registerTool('breaks', {}, () => {
        throw Object.assign(new Error('encoder crashed'), { code: -32050, data: { frame: 7 } });
      });
    },
    { server: { firstDraft }, tasks: { slots } },
  );
  return { served, gate };
}

const connect = (served: Served) => draftPeer(served);

describe('a request that is made a task', () => {
  it('is told to be one, and answered all the same [G1-S-03] [G1-S-05] [G1-S-27]', async () => {
    const { served, gate } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'slow', 'cli-1');
    expect(stream.seen).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tasks/created', params: { _meta: related('cli-1') } },
    ]);
    gate.resolve();
    expect(await answerOf(stream)).toMatchObject({
      result: { content: [{ text: 'done at last' }], _meta: related('cli-1') },
    });
    await stream.ended;
  });

  it('has a result that fits what was listed, also where that is no object', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'either', 'cli-1');
    const { result } = (await answerOf(stream)) as { result: Json };
    expect(result).toMatchObject({ structuredContent: { result: { a: 'b' } } });
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).result).toEqual(result);
    expect((await peer.call('either')).result).toMatchObject({ structuredContent: { result: { a: 'b' } } });
  });

  it('can be asked for from the moment it is told of, and its result as often as wanted [G1-S-06] [G1-S-22] [G1-S-24] [G1-S-25] [G1-S-26]', async () => {
    const { served, gate } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'slow', 'cli-1', { keepAlive: 120_000 });
    const { result } = await peer.send('tasks/get', { taskId: 'cli-1', _meta: related('cli-1') });
    expect(result).toEqual({
      taskId: 'cli-1',
      status: 'working',
      keepAlive: 120_000,
      pollFrequency: 1_000,
      _meta: related('cli-1'),
    });
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).error).toEqual({
      code: -32602,
      message: 'Task result not available: status is working',
    });
    gate.resolve();
    const { result: answered } = (await answerOf(stream)) as { result: Json };
    for (let time = 0; time < 3; time += 1) {
      expect((await peer.send('tasks/result', { taskId: 'cli-1' })).result).toEqual(answered);
    }
    expect((await peer.send('tasks/get', { taskId: 'cli-1' })).result).toMatchObject({ status: 'completed' });
  });

  it('is submitted until somebody works on it [G1-S-10] [G1-S-11] [G1-S-12]', async () => {
    const { served } = aServer(true, 1);
    const peer = await connect(served);
    await startDraft(peer, 'slow', 'first');
    const second = await startDraft(peer, 'slow', 'second');
    const status = async (taskId: string) => (await peer.send('tasks/get', { taskId })).result['status'];
    expect([await status('first'), await status('second')]).toEqual(['working', 'submitted']);
    const { taskId } = (await served.tasks.inspect.list({ limit: 10 })).tasks.find(
      ({ status }) => status === 'working',
    )!;
    await served.tasks.inspect.cancel(taskId);
    await served.tasks.inspect.cancelMany({});
    await answerOf(second);
    expect([await status('first'), await status('second')]).toEqual(['cancelled', 'cancelled']);
  });

  it('may be completed before anybody looked [G1-S-15]', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'quick', 'cli-1');
    await answerOf(stream);
    expect(stream.seen.map((message) => (isAnswer(message) ? 'answer' : message['method']))).toEqual([
      'notifications/tasks/created',
      'answer',
    ]);
    expect((await peer.send('tasks/get', { taskId: 'cli-1' })).result).toMatchObject({ status: 'completed' });
  });

  it("is completed with a tool's own failure, and failed with an error [G1-S-42] [G1-S-43]", async () => {
    const { served } = aServer();
    const peer = await connect(served);
    const reports = await answerOf(await startDraft(peer, 'reports', 'r'));
    expect(reports).toMatchObject({ result: { isError: true, content: [{ text: 'no such film' }] } });
    expect((await peer.send('tasks/get', { taskId: 'r' })).result).toMatchObject({ status: 'completed' });
    expect((await peer.send('tasks/result', { taskId: 'r' })).result).toEqual(reports['result']);
    const breaks = await answerOf(await startDraft(peer, 'breaks', 'b'));
    expect(breaks).toHaveProperty('error', { code: -32050, message: 'encoder crashed', data: { frame: 7 } });
    const { result } = await peer.send('tasks/get', { taskId: 'b' });
    expect(result).toMatchObject({ status: 'failed', error: 'encoder crashed' });
    expect((await peer.send('tasks/result', { taskId: 'b' })).error).toMatchObject({ code: -32602 });
  });

  it('is answered as ever where its tool runs no tasks, and nothing is told [G1-S-04]', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    const { result, others } = await peer.call('never', {}, augmented('cli-1'));
    expect(result).toEqual({ content: [{ type: 'text', text: 'inline' }] });
    expect(others).toEqual([]);
    expect((await peer.send('tasks/get', { taskId: 'cli-1' })).error).toEqual(NOT_FOUND);
  });

  it('may be one that needs a task', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    expect(await answerOf(await startDraft(peer, 'needs', 'n'))).toMatchObject({
      result: { content: [{ text: 'as a task' }] },
    });
  });

  it.each([
    ['', 'of 1 to 256 characters'],
    [7, 'expected a string'],
    ['x'.repeat(257), 'of 1 to 256 characters'],
    ['a\u0007', 'control character'],
  ])('under the id %j is refused, and nothing runs', async (taskId, problem) => {
    const { served } = aServer();
    const peer = await connect(served);
    const { error, others } = await peer.call('quick', {}, augmented(taskId));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(problem) });
    expect(others).toEqual([]);
    expect((await served.tasks.inspect.counts()).total).toBe(0);
  });

  it('has its progress told on its stream, under its token and its name [G1-S-27]', async () => {
    const { served, gate } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'slow', 'cli-1', { progressToken: 'p' });
    await served.clock.advance(1_000);
    const { params } = (await stream.first(({ method }) => method === 'notifications/progress')) as { params: Json };
    expect(params).toEqual({ progressToken: 'p', progress: 1, total: 2, message: 'half', _meta: related('cli-1') });
    gate.resolve();
    await answerOf(stream);
  });

  it('is found again after its stream broke: that is no cancel', async () => {
    const { served, gate } = aServer();
    const peer = await connect(served);
    const gone = new AbortController();
    await startDraft(peer, 'slow', 'cli-1', { signal: gone.signal });
    gone.abort();
    gate.resolve();
    const [task] = (await served.tasks.inspect.list({ limit: 1 })).tasks;
    await served.reaches(task!.taskId, 'completed');
    expect((await peer.send('tasks/result', { taskId: 'cli-1' })).result).toMatchObject({
      content: [{ text: 'done at last' }],
    });
  });
});

describe('an id of a requestor', () => {
  it('is refused a second time, and the task that has it goes on [G1-S-07] [G1-S-08] [G1-S-09]', async () => {
    const { served, gate } = aServer();
    const peer = await connect(served);
    const stream = await startDraft(peer, 'slow', 'cli-1');
    const again = await peer.call('quick', {}, augmented('cli-1'));
    expect(again.error).toEqual({
      code: -32602,
      message: 'the task id is in use already; every task needs an id of its own',
    });
    expect(again.others).toEqual([]);
    gate.resolve();
    expect(await answerOf(stream)).toHaveProperty('result');
    expect((await peer.call('quick', {}, augmented('cli-1'))).error).toMatchObject({ code: -32602 });
    expect((await served.tasks.inspect.counts()).total).toBe(1);
  });

  it.each(['__proto__', 'tsk_looks-like-one-of-ours', '../../etc/passwd', "'; drop table tasks; --", 'ü 日本'])(
    'may be %j',
    async (taskId) => {
      const { served } = aServer();
      const peer = await connect(served);
      await answerOf(await startDraft(peer, 'quick', taskId));
      expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'completed' });
    },
  );

  it('is unknown in every method when it is nobody’s [G1-S-37]', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/delete']) {
      expect((await peer.send(method, { taskId: 'none' })).error).toEqual(NOT_FOUND);
      expect((await peer.send(method, {})).error).toMatchObject({
        code: -32602,
        message: 'params.taskId: expected a string',
      });
    }
  });
});

describe('what a server says of it', () => {
  it('is a capability of booleans, and a hint to each tool [G1-S-01] [G1-S-02]', async () => {
    const { served } = aServer();
    const peer = await connect(served);
    expect(peer.hello['capabilities']).toMatchObject({ tasks: { tools: { call: true } } });
    const { result } = await peer.send('tools/list');
    const hints = Object.fromEntries(
      (result['tools'] as { name: string; annotations?: Json }[]).map(({ name, annotations }) => [
        name,
        annotations?.['taskHint'],
      ]),
    );
    expect(hints).toMatchObject({ slow: true, needs: true });
    expect(hints['never']).toBeUndefined();
  });

  it('is nothing of the kind in a session of 2025-11-25, where the key means nothing', async () => {
    const { served } = aServer();
    const peer = await LegacyPeer.connect(served);
    expect(peer.hello['capabilities']).toMatchObject({ tasks: { requests: { tools: { call: {} } } } });
    const { result, others } = await peer.call('quick', {}, augmented('cli-1'));
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(others).toEqual([]);
    expect((await peer.send('tasks/delete', { taskId: 'cli-1' })).error).toMatchObject({ code: -32601 });
    expect((await peer.send('tasks/get', { taskId: 'cli-1' })).error).toEqual(NOT_FOUND);
  });

  it('is nothing where it is not switched on, and the key means nothing [G1-S-04]', async () => {
    const { served } = aServer(false);
    const peer = await connect(served);
    expect(peer.hello['capabilities']).not.toHaveProperty('tasks');
    const { result, others } = await peer.call('quick', {}, augmented('cli-1'));
    expect(result).toEqual({ content: [{ type: 'text', text: 'done' }] });
    expect(others).toEqual([]);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/delete']) {
      expect((await peer.send(method, { taskId: 'cli-1' })).error).toMatchObject({ code: -32601 });
    }
  });
});

it.each(['2025-03-26', '2024-11-05'])('is the same in sessions of %s', async (version) => {
  const { served, gate } = aServer();
  const peer = await draftPeer(served, { version });
  const stream = await startDraft(peer, 'slow', 'cli-1');
  gate.resolve();
  expect(await answerOf(stream)).toMatchObject({ result: { _meta: { [RELATED]: { taskId: 'cli-1' } } } });
});

it('is the same without a session, for callers that are known', async () => {
  const { served } = aServer();
  const peer = LegacyPeer.stateless(served, '2025-06-18');
  const stream = await startDraft(peer, 'quick', 'cli-1');
  expect(stream.seen.some(isCreated)).toBe(true);
  await answerOf(stream);
  expect((await peer.send('tasks/get', { taskId: 'cli-1' })).result).toMatchObject({ status: 'completed' });
});
