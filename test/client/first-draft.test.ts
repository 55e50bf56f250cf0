import { describe, expect, it } from 'vitest';
import { RemoteGoneError } from '../../src/client/remote-errors.ts';
import { text } from '../../src/engine/index.ts';
import { serve } from '../server/peer.ts';
import { deferred } from '../support/engine.ts';
import { fake } from './fake-server.ts';
import { atOnce, remoteOf, startTask } from './remotes.ts';

function aServer(speaks = true) {
  const gate = deferred();
  const served = serve(
    (tasks) => {
      const task = { task: { onWorkerLost: 'rerun' } } as const;
      tasks.registerTool('slow', task, async () => {
        await gate.promise;
        return text('done at last');
      });
      tasks.registerTool('judge', task, async () => {
        await gate.promise;
        return { ...text('no such film'), isError: true };
      });
      tasks.registerTool('break', task, async () => {
        await gate.promise;
        throw Object.assign(new Error('encoder crashed'), { code: -32050, data: { frame: 7 } });
      });
      tasks.registerTool('never', { task: { support: 'forbidden' } }, () => text('inline'));
    },
    { server: { firstDraft: speaks } },
  );
  const connect = () => remoteOf(served, { protocol: '2025-06-18', firstDraft: true });
  return { served, gate, connect };
}

const said = (words: string) => ({ status: 'completed', result: { content: [{ type: 'text', text: words }] } });

describe('a server that speaks the first draft', () => {
  it('says when a task is there, under an id of ours [G1-C-01] [G1-C-04]', async () => {
    const { connect } = aServer();
    const remote = await connect();
    expect(remote.revision).toBe('SEP-1686');
    const { taskId } = await startTask(remote, 'slow');
    expect(await remote.get(taskId)).toMatchObject({ taskId, status: 'working', pollIntervalMs: expect.any(Number) });
  });

  it('gives the result as often as it is asked for [G1-C-08]', async () => {
    const { served, gate, connect } = aServer();
    const remote = await connect();
    const { taskId } = await startTask(remote, 'slow');
    gate.resolve();
    const [{ taskId: ours } = { taskId: '' }] = (await served.tasks.inspect.list({})).tasks;
    await served.reaches(ours, 'completed');
    expect(await remote.outcome(taskId)).toEqual(said('done at last'));
    expect(await remote.outcome(taskId)).toEqual(said('done at last'));
  });

  it('tells code and data of an error where the call was made, and a failure of the tool whole [C-002]', async () => {
    const { served, gate, connect } = aServer();
    const remote = await connect();
    const broken = await startTask(remote, 'break');
    const judged = await startTask(remote, 'judge');
    gate.resolve();
    for (const { taskId } of (await served.tasks.inspect.list({})).tasks) {
      await served.when(taskId, ({ status }) => status !== 'working');
    }
    const error = { code: -32050, message: 'encoder crashed', data: { frame: 7 } };
    expect(await remote.outcome(broken.taskId)).toEqual({ status: 'failed', error });
    expect(await remote.outcome(judged.taskId)).toMatchObject({ status: 'completed', result: { isError: true } });
  });

  it('cancels where the call was made, and tells of it [G1-C-10]', async () => {
    const { served, connect } = aServer();
    const remote = await connect();
    const { taskId } = await startTask(remote, 'slow');
    await remote.cancel(taskId);
    const [{ taskId: ours } = { taskId: '' }] = (await served.tasks.inspect.list({})).tasks;
    await served.reaches(ours, 'cancelled');
    expect(await remote.outcome(taskId)).toEqual({ status: 'cancelled' });
    await expect(remote.get('never was')).rejects.toThrow(RemoteGoneError);
  });

  it('has one task for a call that comes twice under one key, also on another connection [C-096]', async () => {
    const { served, connect } = aServer();
    const again = { name: 'slow', arguments: {}, idempotencyKey: 'the same' };
    const first = await (await connect()).start(again);
    const second = await (await connect()).start({ ...again, repeatAgeMs: 1_000 });
    expect(second).toMatchObject({ kind: 'task' });
    expect(second).toEqual(first);
    expect((await served.tasks.inspect.list({})).tasks).toHaveLength(1);
  });

  it('answers a tool that is never a task, and there is no task [G1-C-05]', async () => {
    const remote = await aServer().connect();
    expect(await atOnce(remote, 'never')).toEqual(said('inline'));
  });
});

describe('a server that does not', () => {
  it('answers as ever', async () => {
    const { gate, connect } = aServer(false);
    const remote = await connect();
    gate.resolve();
    expect(await atOnce(remote, 'slow')).toEqual(said('done at last'));
  });
});

describe('a task of the first draft', () => {
  it.each([
    ['submitted', {}, { status: 'working' }],
    ['unknown', {}, { status: 'failed', outcome: { status: 'failed', error: { code: -32603 } } }],
    ['failed', { error: 'no disk' }, { statusMessage: 'no disk', outcome: { error: { message: 'no disk' } } }],
    ['working', { pollInterval: 3 }, { status: 'working', pollIntervalMs: 3 }],
  ])(
    'that is %s is read in the words of all others, with its related key sent [G1-C-09]',
    async (status, more, expected) => {
      const { remote, sent } = await fake({
        version: '2025-06-18',
        firstDraft: true,
        methods: { 'tasks/get': ({ taskId }) => ({ result: { taskId, status, keepAlive: null, ...more } }) },
      });
      expect(await remote.get('t-1')).toMatchObject(expected);
      expect(sent.at(-1)?.params).toEqual({
        taskId: 't-1',
        _meta: { 'modelcontextprotocol.io/related-task': { taskId: 't-1' } },
      });
    },
  );
});
