import { describe, expect, it } from 'vitest';
import type { Remote, RemoteTask } from '../../src/client/remote.ts';
import { RemoteGoneError, RemoteRefusedError } from '../../src/client/remote-errors.ts';
import { text } from '../../src/engine/index.ts';
import { answered } from '../hosts/waiting.ts';
import { type Served, serve } from '../server/peer.ts';
import { fake } from './fake-server.ts';
import { atOnce, remoteOf, startTask } from './remotes.ts';

const said = (words: string) => ({ status: 'completed', result: { content: [{ type: 'text', text: words }] } });

/** A session from before there were tasks, on a server that has them. */
async function old(): Promise<{ served: Served; remote: Remote; begin: (name: string) => Promise<RemoteTask> }> {
  const served = serve((tasks) => {
    tasks.registerTool('quick', {}, () => text('done'));
    tasks.registerTool('slow', {}, async (_args, task) => {
      await task.sleep(60_000);
      return text('done at last');
    });
    tasks.registerTool('judge', {}, async (_args, task) => {
      await task.sleep(60_000);
      return { ...text('no such film'), isError: true };
    });
  });
  const remote = await remoteOf(served, { protocol: '2025-06-18' });
  const begin = async (name: string) => (await answered(served.clock, startTask(remote, name))).answer;
  return { served, remote, begin };
}

describe('a server with companions, spoken to in 2025-06-18', () => {
  it('answers at once, or with a task that is followed by its tools', async () => {
    const { served, remote, begin } = await old();
    expect(remote.revision).toBe('companions');
    expect(await atOnce(remote, 'quick')).toEqual(said('done'));
    const task = await begin('slow');
    expect(task).toMatchObject({ status: 'working', pollIntervalMs: expect.any(Number) });
    expect(await remote.get(task.taskId)).toMatchObject({ taskId: task.taskId, status: 'working' });
    served.clock.advance(60_000);
    await served.reaches(task.taskId, 'completed');
    expect(await remote.outcome(task.taskId)).toEqual(said('done at last'));
  });

  it("keeps a tool's own failure whole [C-001]", async () => {
    const { served, remote, begin } = await old();
    const { taskId } = await begin('judge');
    served.clock.advance(60_000);
    await served.reaches(taskId, 'completed');
    expect(await remote.outcome(taskId)).toMatchObject({
      result: { isError: true, content: [{ text: 'no such film' }] },
    });
  });

  it('ends a task, and knows no other', async () => {
    const { served, remote, begin } = await old();
    const { taskId } = await begin('slow');
    await remote.cancel(taskId);
    await served.reaches(taskId, 'cancelled');
    expect(await remote.outcome(taskId)).toMatchObject({ result: { isError: true } });
    await expect(remote.get('tsk_none')).rejects.toThrow(RemoteGoneError);
    await expect(remote.cancel('tsk_none')).rejects.toThrow(RemoteGoneError);
  });
});

describe('the answer to a question of such a task', () => {
  it('goes by the tool for it, and is told when it was not taken', async () => {
    const used: unknown[] = [];
    const { remote } = await fake({
      version: '2025-06-18',
      methods: {
        'tools/list': () => ({
          result: { tools: ['task_result', 'task_cancel'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
        }),
        'tools/call': (params) => {
          used.push(params['name'], params['arguments']);
          return { result: { content: [{ type: 'text', text: 'no' }], isError: used.length > 2 } };
        },
      },
    });
    const answers = new Map([['go', { action: 'accept', content: { where: 'home' } } as const]]);
    await remote.answer('t-1', answers);
    expect(used).toEqual(['task_answer', { taskId: 't-1', key: 'go', action: 'accept', content: { where: 'home' } }]);
    await expect(remote.answer('t-1', answers)).rejects.toThrow(RemoteRefusedError);
  });
});
