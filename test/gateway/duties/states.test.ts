import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import { type Generation, gatewayOf, upstream, upstreamOf } from './stage.ts';

const verdict = {
  isError: true,
  content: [{ type: 'text' as const, text: '3 of 200 tests fail' }],
  structuredContent: { failed: 3 },
};
const broken = { code: -32050, message: 'no such column', data: { column: 'x' } };

function tools(tasks: Tasks): void {
  const task = { task: { onWorkerLost: 'rerun' } } as const;
  tasks.registerTool('add', { ...task, inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) =>
    text(String(a + b)),
  );
  tasks.registerTool('judge', task, async () => verdict as never);
  tasks.registerTool('break', task, async () => {
    throw Object.assign(new Error(broken.message), { code: broken.code, data: broken.data });
  });
}

const generations: Generation[] = ['2026-07-28', '2025-11-25', '2025-06-18'];

describe.each(generations)('an upstream of %s', (generation) => {
  const stage = async () => {
    const { target } = await upstreamOf(generation, tools);
    return gatewayOf({ upstreams: [upstream(target)] });
  };

  it('ends a task of 2026-07-28 as it ended there [GW-04] [GW-05] [GW-14]', async () => {
    const standing = await stage();
    const { peer, reaches } = standing;
    await peer.send('tools/list', {});
    const sum = await peer.start('add', { a: 1, b: 2 });
    expect(await reaches(sum.taskId, 'completed')).toMatchObject({
      result: { resultType: 'complete', content: [{ type: 'text', text: '3' }] },
    });
    const judged = await peer.start('judge');
    expect(await reaches(judged.taskId, 'completed')).toMatchObject({ result: { resultType: 'complete', ...verdict } });
    const failed = await peer.start('break');
    expect(await reaches(failed.taskId, 'failed')).toMatchObject({ error: broken });
  });

  it('ends a task of 2025-11-25 as it ended there [GW-04] [GW-05]', async () => {
    const standing = await stage();
    const session = await LegacyPeer.connect(standing);
    const judged = await session.start('judge');
    const { result } = await session.send('tasks/result', { taskId: judged.taskId });
    expect(result).toMatchObject(verdict);
    expect(result).not.toHaveProperty('resultType');
    expect((await session.send('tasks/get', { taskId: judged.taskId })).result).toMatchObject({ status: 'failed' });
    const failed = await session.start('break');
    expect((await session.send('tasks/result', { taskId: failed.taskId })).error).toEqual(broken);
    expect((await session.send('tasks/get', { taskId: failed.taskId })).result).toMatchObject({ status: 'failed' });
  });
});
