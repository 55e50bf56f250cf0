import { describe, expect, it } from 'vitest';
import { text } from '../../../src/engine/index.ts';
import { answerOf, draftPeer, isCreated, startDraft } from '../../server/draft-peer.ts';
import { LegacyPeer } from '../../server/legacy-peer.ts';
import { deferred } from '../../support/engine.ts';
import type { Json } from '../../support/messages.ts';
import { type Generation, gatewayOf, until, upstream, upstreamOf } from './stage.ts';

const generations: Generation[] = ['2026-07-28', '2025-11-25', '2025-06-18'];

/** A gateway before a tool that works until it is told to end, or cancelled. */
async function stage(generation: Generation) {
  const gate = deferred();
  const seen = { runs: 0, cancelled: 0 };
  const stand = await upstreamOf(generation, (tasks) => {
    tasks.registerTool('slow', { task: { onWorkerLost: 'rerun' } }, async (_args, { signal }) => {
      seen.runs += 1;
      await new Promise<void>((resolve, reject) => {
        void gate.promise.then(resolve);
        signal.addEventListener('abort', () => {
          seen.cancelled += 1;
          reject(signal.reason as Error);
        });
      });
      return text('done');
    });
  });
  const standing = await gatewayOf({
    firstDraft: true,
    upstreams: [upstream(stand.target, { firstDraft: true })],
  });
  return { gate, seen, stand, standing };
}

const done = { content: [{ type: 'text', text: 'done' }] };

describe.each(generations)('a task of an upstream of %s', (generation) => {
  it('is cancelled there by a client of 2026-07-28, and once more without complaint [GW-09]', async () => {
    const { seen, standing } = await stage(generation);
    const { peer } = standing;
    const { taskId } = await peer.start('slow');
    await until(() => seen.runs === 1);
    for (let times = 0; times < 2; times += 1) expect((await peer.cancel(taskId)).error).toBeUndefined();
    expect((await peer.get(taskId)).result).toMatchObject({ status: 'cancelled' });
    await until(() => seen.cancelled === 1);
    expect((await peer.cancel('tsk_none')).error.code).toBe(-32602);
  });

  it('is cancelled here before a session of 2025-11-25 is answered, and stays it [GW-08]', async () => {
    const { gate, seen, stand, standing } = await stage(generation);
    const session = await LegacyPeer.connect(standing);
    const { taskId } = await session.start('slow');
    await until(() => seen.runs === 1);
    expect((await session.send('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' });
    gate.resolve(); // It may have finished there all the same.
    const counts = () => stand.tasks.inspect.counts();
    while ((await counts()).byStatus.working > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await session.send('tasks/get', { taskId })).result).toMatchObject({ status: 'cancelled' });
    expect((await session.send('tasks/cancel', { taskId })).error.code).toBe(-32602);
  });

  it('is known to a session of the first draft by its own id, and its request is answered at the end [GW-12] [GW-02]', async () => {
    const { gate, seen, standing } = await stage(generation);
    const session = await draftPeer(standing);
    expect(session.hello['capabilities']).toMatchObject({ tasks: {} });
    const [tool] = (await session.send('tools/list')).result['tools'] as Json[];
    expect(tool).toMatchObject({ name: 'slow', annotations: { taskHint: true } });
    const reading = await startDraft(session, 'slow', 'tsk 1/ü');
    const about = { _meta: { 'modelcontextprotocol.io/related-task': { taskId: 'tsk 1/ü' } } };
    expect(reading.seen.find(isCreated)).toMatchObject({ params: about });
    await until(() => seen.runs === 1);
    gate.resolve();
    expect(await answerOf(reading)).toMatchObject({ result: { ...done, ...about } });
    expect((await session.send('tasks/result', { taskId: 'tsk 1/ü' })).result).toMatchObject({ ...done, ...about });
  });

  it('is listed and deleted here, and nobody asks the upstream for that [GW-10] [GW-11]', async () => {
    const { seen, stand, standing } = await stage(generation);
    const session = await LegacyPeer.connect(standing);
    const { taskId } = await session.start('slow');
    await until(() => seen.runs === 1);
    const { result } = await session.send('tasks/list');
    expect((result['tasks'] as Json[]).map((task) => task['taskId'])).toEqual([taskId]);
    const draft = await draftPeer(standing);
    await startDraft(draft, 'slow', 'mine');
    await until(() => seen.runs === 2);
    await draft.send('tasks/delete', { taskId: 'mine' });
    await until(() => seen.cancelled === 1);
    expect((await draft.send('tasks/get', { taskId: 'mine' })).error.code).toBe(-32602);
    expect((await draft.send('tasks/result', { taskId: 'mine' })).error.code).toBe(-32602);
    expect(stand.of('tasks/list')).toEqual([]);
    expect(stand.of('tasks/delete')).toEqual([]);
  });

  it('looks to each client as its own generation has it, whoever made it [GW-03] [EC-37] [GW-01]', async () => {
    const { gate, seen, standing } = await stage(generation);
    const session = await LegacyPeer.connect(standing);
    const { taskId } = await standing.peer.start('slow');
    await until(() => seen.runs === 1);
    const get = async () => (await session.send('tasks/get', { taskId })).result;
    expect(await get()).toMatchObject({ taskId, status: 'working', ttl: expect.any(Number) });
    expect(await get()).not.toHaveProperty('ttlMs');
    gate.resolve();
    expect((await session.send('tasks/result', { taskId })).result).toMatchObject(done);
    const { taskId: other } = await session.start('slow');
    expect(await standing.reaches(other, 'completed')).toMatchObject({ result: done, ttlMs: expect.any(Number) });
  });
});

it('keeps a result for longer than the upstream does [GW-13]', async () => {
  const stand = await upstreamOf(
    '2025-11-25',
    (tasks) => {
      tasks.registerTool('quick', { task: { onWorkerLost: 'rerun', keepResultMs: 1 } }, async () => text('done'));
    },
    { tasks: { ttlMs: 1_500, maxTtlMs: 1_500, sweepMs: 50 } },
  );
  const standing = await gatewayOf({ upstreams: [upstream(stand.target)] });
  const { taskId } = await standing.peer.start('quick');
  await standing.reaches(taskId, 'completed');
  const [theirs] = (await stand.tasks.inspect.list({})).tasks;
  const isGone = async (): Promise<boolean> =>
    (await stand.tasks.engine.statusOf(String(theirs?.taskId))) === undefined;
  while (!(await isGone())) await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await standing.peer.get(taskId)).result).toMatchObject({ status: 'completed', result: done });
});

it('asks an upstream no faster than it wants, however many read, and tells them [GW-20]', async () => {
  const gate = deferred();
  const stand = await upstreamOf('2025-11-25', (tasks) => {
    tasks.registerTool('slow', { task: { onWorkerLost: 'rerun', pollIntervalMs: 1_500 } }, async () => {
      await gate.promise;
      return text('done');
    });
  });
  const standing = await gatewayOf({ upstreams: [upstream(stand.target)] });
  const { peer } = standing;
  const { taskId } = await peer.start('slow');
  await standing.when(taskId, (task) => task['pollIntervalMs'] === 1_500);
  const polls = () => stand.sent.filter(({ message }) => message['method'] === 'tasks/get');
  await until(() => polls().length === 1);
  const reading = { on: true };
  const readers = Array.from({ length: 10 }, async () => {
    while (reading.on) await peer.get(taskId);
  });
  await until(() => polls().length === 3);
  reading.on = false;
  await Promise.all(readers);
  const [, second, third] = polls();
  expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(1_450);
  gate.resolve();
  expect(await standing.reaches(taskId, 'completed')).toMatchObject({ result: done });
});
