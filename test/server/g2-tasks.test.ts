import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import { isSdkV1 } from './binding.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { type Served, serve } from './peer.ts';

// Tasks of 2025-11-25 from their creation on: what is asked for, what is granted, what each answer says.

const DAY = 86_400_000;
const RELATED = 'io.modelcontextprotocol/related-task';
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

function register(tasks: Tasks): void {
  tasks.registerTool('quick', { task: { pollIntervalMs: 700 } }, () => text('done'));
  tasks.registerTool('must', { task: { support: 'required' } }, () => text('done'));
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
  tasks.registerTool('strict', { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(`${n}`));
}

const over = [
  ['with a session', (served: Served) => LegacyPeer.connect(served)],
  ['without one', async (served: Served) => LegacyPeer.stateless(served, '2025-11-25')],
] as const;

describe.each(over)('a task of 2025-11-25 over HTTP, %s', (_, connect) => {
  it('is answered with its handle, at once and without its result [G2-S-08] [G2-S-09] [G2-S-14]', async () => {
    const served = serve(register);
    const peer = await connect(served);
    const { result, others } = await peer.call('quick', {}, { task: {} });
    expect(others).toEqual([]);
    expect(result).toEqual({
      task: {
        taskId: expect.any(String),
        status: 'working',
        createdAt: ISO,
        lastUpdatedAt: ISO,
        ttl: 7 * DAY,
        pollInterval: 700,
      },
    });
    // The work may take as long as it likes: nobody moved the clock, or let it end.
    expect(await peer.start('forever')).toMatchObject({ status: 'working' });
  });

  it('has an id of the server, never the same twice [G2-S-11] [G2-S-12] [G2-S-13] [G2-S-60]', async () => {
    const served = serve(register);
    const peer = await connect(served);
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await peer.start('quick', {}, { taskId: 'mine' })).taskId),
    );
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id).toMatch(/^tsk_[A-Za-z0-9_-]{22,}$/); // 128 bits and more.
  });

  it('says the same of itself wherever it is asked [G2-S-22] [G2-S-23] [G2-S-25] [G2-S-27] [G2-S-34]', async () => {
    const served = serve(register);
    const peer = await connect(served);
    const { taskId } = await peer.start('forever', {}, { ttl: 60_000 });
    const task = (await peer.send('tasks/get', { taskId })).result;
    expect(task).toEqual({
      taskId,
      status: 'working',
      createdAt: ISO,
      lastUpdatedAt: ISO,
      ttl: expect.any(Number),
      pollInterval: expect.any(Number),
    });
    expect((await peer.send('tasks/list')).result).toEqual({ tasks: [task] });
    const cancelled = (await peer.send('tasks/cancel', { taskId })).result;
    expect(Object.keys(cancelled).sort()).toEqual([...Object.keys(task), 'statusMessage'].sort());
  });

  // The transport of the SDK's first version answers all requests in one way.
  it.skipIf(isSdkV1())('is polled without a stream [G2-S-21]', async () => {
    const served = serve(register);
    const peer = await connect(served);
    const { taskId } = await peer.start('forever');
    const response = await peer.stream('tasks/get', { taskId });
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toMatchObject({ result: { taskId } });
    expect((await peer.stream('tasks/get', { taskId: 'no' })).headers.get('content-type')).toMatch(
      /^application\/json/,
    );
  });

  it('is polled whole, whatever characters its status holds', async () => {
    const odd = 'one\u2028data: two\u2029three\r\n\u0085four';
    const served = serve((tasks) =>
      tasks.registerTool('odd', {}, (_args, task) => {
        task.progress(1, 2, odd);
        return new Promise<never>(() => {});
      }),
    );
    const peer = await connect(served);
    const { taskId } = await peer.start('odd');
    await pass(served.clock, 200);
    const { status, result } = await peer.send('tasks/get', { taskId });
    expect(status).toBe(200);
    expect(result).toMatchObject({ status: 'working', statusMessage: `1/2 ${odd}` });
  });

  it('is the one named by taskId, whatever the related-task key says [G2-S-33] [C-006]', async () => {
    const served = serve(register);
    const peer = await connect(served);
    const { taskId } = await peer.start('quick');
    const other = await peer.start('forever');
    const params = { taskId, _meta: { [RELATED]: { taskId: other.taskId } } };
    await peer.send('tasks/result', params);
    expect((await peer.send('tasks/get', params)).result).toMatchObject({ taskId, status: 'completed' });
    expect((await peer.send('tasks/cancel', params)).error.code).toBe(-32602);
    expect((await peer.send('tasks/get', { taskId: other.taskId })).result).toMatchObject({ status: 'working' });
  });

  it('works on when its requestor is gone before the handle arrived, who finds it in the list [G2-S-69]', async () => {
    const started = deferred();
    const served = serve((tasks) =>
      tasks.registerTool('slow', {}, () => {
        started.resolve();
        return new Promise<never>(() => {});
      }),
    );
    const peer = await connect(served);
    const leaves = new AbortController();
    const reply = peer.call('slow', {}, { task: {} }, { signal: leaves.signal });
    await started.promise;
    leaves.abort();
    await reply.catch(() => {});
    await settle();
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ status: 'working' }] });
  });
});

describe('bad arguments', () => {
  it('are told before there is a task', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    const words = expect.stringMatching(/^Input validation error: Invalid arguments for tool strict: n: /);
    // A task was asked for: whoever did takes nothing else, but an error.
    expect((await peer.call('strict', { n: 'x' }, { task: {} })).error).toMatchObject({ code: -32602, message: words });
    expect((await peer.call('strict', { n: 'x' })).result).toMatchObject({ isError: true, content: [{ text: words }] });
    const unknown = await peer.call('nothing', {}, { task: {} });
    if (isSdkV1()) expect(unknown.result).toMatchObject({ isError: true });
    else expect(unknown.error.code).toBe(-32602);
    expect((await peer.send('tasks/list')).result).toEqual({ tasks: [] });
  });
});

describe('what nobody may ask', () => {
  it.each(['tasks/get', 'tasks/result', 'tasks/cancel'])(
    '%s says the same of every id that is none [G2-S-49] [G2-S-52] [C-010]',
    async (method) => {
      const peer = await LegacyPeer.connect(serve(register));
      const { taskId } = await peer.start('quick');
      const ids = ['tsk_AAAAAAAAAAAAAAAAAAAAAAAA', `${taskId.slice(0, -1)}!`, '', 'x'.repeat(10_000), '__proto__'];
      for (const id of ids) {
        const { message, status } = await peer.send(method, { taskId: id });
        expect({ status, error: message['error'] }).toEqual({
          status: 200,
          error: { code: -32602, message: 'Task not found' },
        });
      }
      for (const params of [{}, { taskId: 7 }, { taskId: null }, { taskId: [taskId] }]) {
        const { error } = await peer.send(method, params);
        expect(error).toEqual({ code: -32602, message: 'params.taskId: expected a string' });
      }
    },
  );
});
