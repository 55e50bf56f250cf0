import { describe, expect, it } from 'vitest';
import { type TasksOptions, text } from '../../src/engine/index.ts';
import type { TaskServerOptions } from '../../src/server/index.ts';
import { serve } from './peer.ts';

function served(server?: TaskServerOptions, tasks?: Partial<TasksOptions>) {
  const made = serve(
    (registry) => {
      registry.registerTool('work', {}, () => text('done'));
      registry.registerTool('plain', { task: { support: 'forbidden' } }, () => text('done'));
    },
    { ...(server && { server }), ...(tasks && { tasks }) },
  );
  const labels = async (taskId: string) => (await made.tasks.inspect.get(taskId)).labels;
  const related = (ids: unknown) => ({ meta: { 'io.modelcontextprotocol/relatedTaskIds': ids } });
  return { ...made, labels, related };
}

describe('ids of related tasks on a call', () => {
  it('are ignored unless the server wants them [G3D-S-01]', async () => {
    const { peer, labels, related } = served();
    const { taskId } = await peer.start('work');
    expect(await labels((await peer.start('work', {}, related([taskId]))).taskId)).toBeUndefined();
  });

  it('are kept where they are the caller’s own, and others are as if absent [G3D-S-02] [G3D-S-03]', async () => {
    const { peer, tasks, labels, related } = served({ relatedTasks: true });
    const mine = await peer.start('work');
    const { definition } = tasks.tools[0]!;
    const { task: foreign } = await tasks.engine.create({
      definition,
      principal: { subject: 'somebody else' },
      input: {},
      revision: '2026-07-28',
      abilities: { form: false },
    });
    const one = await peer.start('work', {}, related([mine.taskId, foreign.taskId, 'tsk_made_up']));
    expect(await labels(one.taskId)).toEqual({ relatedTasks: mine.taskId });
    const two = await peer.start('work', {}, related([foreign.taskId]));
    const three = await peer.start('work', {}, related(['tsk_made_up']));
    for (const { taskId } of [two, three]) expect(await labels(taskId)).toBeUndefined();
    expect(Object.keys(two).sort()).toEqual(Object.keys(three).sort());
  });

  it.each([
    ['none', []],
    ['no list', 'tsk_1'],
    ['no texts', [1, null, {}]],
  ])('may be %s, which is as if they were absent [G3D-S-04]', async (_, ids) => {
    const { peer, labels, related } = served({ relatedTasks: true });
    expect(await labels((await peer.start('work', {}, related(ids))).taskId)).toBeUndefined();
  });

  it('count once each, and not beyond a limit [G3D-S-04]', async () => {
    const { peer, labels, related } = served({ relatedTasks: true });
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) ids.push((await peer.start('work')).taskId);
    const { taskId } = await peer.start('work', {}, related([ids[0], ids[0], ...ids]));
    expect((await labels(taskId))?.['relatedTasks']).toBe(ids.slice(0, 32).join(' '));
  });

  it('make no task of a call that is none [G3D-S-05]', async () => {
    const { peer, related } = served({ relatedTasks: true });
    const { taskId } = await peer.start('work');
    expect((await peer.call('plain', {}, related([taskId]))).result).toMatchObject({ content: [{ text: 'done' }] });
    const { result } = await peer.call('work', {}, { capabilities: {}, ...related([taskId]) });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] });
  });
});
