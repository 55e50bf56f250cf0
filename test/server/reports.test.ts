import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { LegacyPeer, type Reading } from './legacy-peer.ts';
import { listener } from './listener.ts';
import { serve } from './peer.ts';

// What a handler reports, on its way to people: nobody asked, nobody listens, somebody does.

const plain = { capabilities: {} };
const progressOf = ({ seen }: Reading) =>
  seen
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => Number((params as Json)['progress']));

/** A tool whose reports are made from outside, and that ends when it is told to. */
function reporting() {
  const started: TaskContext[] = [];
  const go = deferred();
  const served = serve((tasks: Tasks) => {
    const inputSchema = z.object({ caller: z.string().optional() });
    tasks.registerTool('work', { inputSchema, task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      started.push(task);
      await go.promise;
      return text('done');
    });
    tasks.registerTool('fails', {}, (_args, task) => {
      task.progress(1, 2);
      throw new Error('the disk is full');
    });
  });
  /** One report in each of `count` tenths of a second, as many as are written. */
  const report = async (count: number, message?: string): Promise<void> => {
    for (let n = 1; n <= count; n += 1) {
      for (const task of started) task.progress(n, count, message);
      await pass(served.clock, 100);
    }
  };
  return { ...served, started, go, report };
}

describe('a handler that reports a hundred times', () => {
  it('is heard to the end by who gave a token, and by nobody else [C-075]', async () => {
    const served = reporting();
    const peer = await LegacyPeer.connect(served);
    const told = await peer.start('work', {}, {}, { _meta: { progressToken: 'mine' } });
    const untold = await peer.start('work');
    const streams = [
      await peer.follow('tasks/result', { taskId: told.taskId }),
      await peer.follow('tasks/result', { taskId: untold.taskId }),
    ] as const;
    await served.report(100);
    served.go.resolve();
    await Promise.all(streams.map(({ ended }) => ended));
    const numbers = progressOf(streams[0]);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(numbers.length).toBeGreaterThan(90);
    expect(numbers.at(-1)).toBeGreaterThan(98);
    expect(progressOf(streams[1])).toEqual([]);
    for (const { seen } of streams) expect(seen.at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });

  it('is heard on the stream of its call by who knows no tasks [C-075]', async () => {
    const { peer, report, go, started } = reporting();
    const calls = [
      peer.call('work', { caller: 'listens' }, { ...plain, meta: { progressToken: 'mine' } }),
      peer.call('work', { caller: 'does not' }, plain),
    ] as const;
    while (started.length < 2) await settle(1);
    await report(100);
    go.resolve();
    const [told, untold] = await Promise.all(calls);
    const numbers = told.notifications.map(({ params }) => Number((params as Json)['progress']));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(numbers.length).toBeGreaterThan(90);
    expect(untold.notifications).toEqual([]);
    for (const { result } of [told, untold]) expect(result).toMatchObject({ content: [{ text: 'done' }] });
  });
});

describe('a handler that reports a thousand times a second', () => {
  it('neither notices nor minds who is gone, who cannot listen, and who does not read [C-076]', async () => {
    const { peer, clock, go, started, reaches, ...served } = reporting();
    const legacy = await LegacyPeer.connect({ peer });
    const token = { _meta: { progressToken: 'p' } };
    const gone = new AbortController();
    const leaves = await legacy.start('work', {}, {}, token);
    await legacy.stream('tasks/result', { taskId: leaves.taskId }, { signal: gone.signal });
    const stuck = await legacy.start('work', {}, {}, token);
    const unread = await legacy.stream('tasks/result', { taskId: stuck.taskId }); // Nobody reads this one.
    const deaf = await legacy.start('work');
    const modern = await peer.start('work', {}, { meta: { progressToken: 'p' } });
    const listening = await listener(peer, { taskIds: [modern.taskId] }); // Nor this one.
    while (started.length < 4) await settle(1);
    const tenths = 20;
    for (let tenth = 0; tenth < tenths; tenth += 1) {
      if (tenth === 5) gone.abort();
      for (let n = 0; n < 100; n += 1) {
        for (const task of started) expect(task.progress(tenth * 100 + n, 2_000)).toBeUndefined();
      }
      await pass(clock, 100);
    }
    go.resolve();
    const all = [leaves, stuck, deaf, modern].map(({ taskId }) => taskId);
    for (const taskId of all) {
      expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'done' }] } });
    }
    expect((await listening.rest()).length).toBeLessThan(tenths / 2); // What it missed is not made up for.
    await unread.body?.cancel();
    expect(served.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('fails by its own error alone, which says what happened [C-076]', async () => {
    const served = reporting();
    const { taskId } = await served.peer.start('fails');
    expect(await served.reaches(taskId, 'failed')).toMatchObject({
      statusMessage: expect.stringContaining('the disk is full'),
      error: { message: 'the disk is full' },
    });
    const legacy = await LegacyPeer.connect(served);
    const { taskId: other } = await legacy.start('fails', {}, {}, { _meta: { progressToken: 'p' } });
    expect((await legacy.send('tasks/result', { taskId: other })).error.message).toBe('the disk is full');
  });
});

describe('a status text that changes every two seconds', () => {
  it('reaches pushes, polls and the status tool, once each, although no number moves [C-077]', async () => {
    const { peer, clock, started, go, when } = reporting();
    const { taskId } = await peer.start('work');
    const stream = await listener(peer, { taskIds: [taskId] });
    await stream.next();
    await stream.next();
    const texts = ['reading', 'mixing', 'writing'].map((text) => `0/3 ${text}`);
    for (const text of texts) {
      started[0]?.progress(0, 3, text.slice(4));
      await pass(clock, 2_000);
      await when(taskId, ({ statusMessage }) => statusMessage === text);
      expect(await stream.next()).toMatchObject({ params: { statusMessage: text } });
      const { result } = await peer.call('task_status', { taskId }, plain);
      expect((result['content'] as { text: string }[])[0]?.text).toContain(text.slice(4));
    }
    const again = peer.call('task_status', { taskId }, plain); // There is no news to tell, so it waits for some.
    await settle();
    started[0]?.progress(0, 3, 'packing');
    await pass(clock, 2_000);
    expect(((await again).result['content'] as { text: string }[])[0]?.text).toContain('packing');
    go.resolve();
    const rest = await stream.rest();
    const told = rest.slice(0, -1).map(({ params }) => (params as Json)['statusMessage']);
    expect(told.filter((text) => String(text).endsWith('packing'))).toHaveLength(1);
  });
});
