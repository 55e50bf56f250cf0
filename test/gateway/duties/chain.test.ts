import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { text } from '../../../src/engine/index.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import type { Json } from '../../support/messages.ts';
import { gatewayOf, type Standing, until, upstream, upstreamOf } from './stage.ts';

/** A tool that asks, behind two gateways. */
async function chain(generation: '2026-07-28' | '2025-11-25') {
  const seen = { runs: 0, answers: 0 };
  const stand = await upstreamOf(generation, (tasks) => {
    tasks.registerTool('deploy', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      seen.runs += 1;
      const { action } = await task.ask('sure', { message: 'Sure?', schema: z.object({}) });
      seen.answers += 1;
      return text(`deployed: ${action}`);
    });
  });
  const inner = await gatewayOf({ upstreams: [upstream(stand.target, { name: 'inner' })] });
  const target = { url: inner.url, headers: {}, forwardAuthorization: false };
  const outer = await gatewayOf({ upstreams: [upstream(target, { name: 'outer' })] });
  return {
    seen,
    inner,
    outer,
    innerConfig: [upstream(stand.target, { name: 'inner' })],
    outerConfig: [upstream(target, { name: 'outer' })],
  };
}

/** The same gateway in another process: on its state, at its address. */
async function restarted(
  { gateway, url, stateFolder }: Standing,
  upstreams: ReturnType<typeof upstream>[],
): Promise<Standing> {
  await gateway.close();
  return gatewayOf({ upstreams }, { stateFolder, port: Number(new URL(url).port) });
}

const said = { content: [{ text: 'deployed: accept' }] };
const yes = { action: 'accept', content: {} };

describe.each(['2026-07-28', '2025-11-25'] as const)('a task of %s behind two gateways', (generation) => {
  it('lives through the restart of each, and is answered and fetched by 2026-07-28 [C-082] [GW-01]', async () => {
    const { seen, inner, outer, innerConfig, outerConfig } = await chain(generation);
    const { taskId } = await outer.peer.start('deploy');
    await outer.reaches(taskId, 'input_required');
    await restarted(inner, innerConfig);
    const again = await restarted(outer, outerConfig);
    const { inputRequests } = await again.when(
      taskId,
      (task) => Object.keys((task['inputRequests'] ?? {}) as Json).length > 0,
    );
    const [key = ''] = Object.keys(inputRequests as Json);
    await again.peer.update(taskId, { [key]: yes });
    expect(await again.reaches(taskId, 'completed')).toMatchObject({ result: said });
    expect(seen).toEqual({ runs: 1, answers: 1 });
  });

  it('is asked about, fetched and cancelled in a session of 2025-11-25 [C-082]', async () => {
    const { seen, outer } = await chain(generation);
    const session = await LegacyPeer.connect(outer, { capabilities: { elicitation: { form: {} } } });
    session.onQuestion = () => ({ result: yes });
    const { taskId } = await session.start('deploy');
    expect((await session.send('tasks/result', { taskId })).result).toMatchObject(said);
    const { taskId: unwanted } = await session.start('deploy');
    await until(() => seen.runs === 2);
    expect((await session.send('tasks/cancel', { taskId: unwanted })).result).toMatchObject({ status: 'cancelled' });
    expect(seen.answers).toBe(1);
  });

  it('is followed by tools where the client has no tasks [C-082]', async () => {
    const { outer } = await chain(generation);
    const session = await LegacyPeer.connect(outer, { version: '2025-06-18' });
    const handle = (await session.call('deploy')).result;
    const { taskId } = handle['structuredContent'] as { taskId: string };
    const [, key] = /Question "([^"]+)"/.exec(JSON.stringify(handle).replaceAll('\\"', '"')) ?? [];
    await session.call('task_answer', { taskId, key, ...yes });
    expect((await session.call('task_wait', { taskId })).result).toMatchObject(said);
  });
});
