import { describe, expect, it } from 'vitest';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import { LegacyPeer } from './legacy-peer.ts';
import { serve } from './peer.ts';

// How long a task of 2025-11-25 is kept: what is asked for, what is granted, and that what was granted is what happens.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function register(tasks: Tasks): void {
  tasks.registerTool('quick', { task: { keepResultMs: 1 } }, () => text('done'));
  tasks.registerTool('forever', {}, () => new Promise<never>(() => {}));
}

const someDays = { tasks: { maxTtlMs: 30 * DAY } };

describe('the ttl that a requestor asks for', () => {
  it.each([
    [60_000, 60_000],
    [1, 1],
    [1e12, 30 * DAY],
    [Number.MAX_SAFE_INTEGER, 30 * DAY],
    [null, 30 * DAY],
  ])('%s is granted as %s, and told so everywhere [G2-S-24] [G2-S-25] [G2-S-64] [C-057]', async (ttl, granted) => {
    const peer = await LegacyPeer.connect(serve(register, someDays));
    const handle = await peer.start('forever', {}, { ttl });
    expect(handle).toMatchObject({ ttl: granted });
    const { taskId } = handle;
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId, ttl: granted }] });
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ ttl: granted });
    expect((await peer.send('tasks/cancel', { taskId })).result).toMatchObject({ ttl: expect.any(Number) });
  });

  it.each([[0], [-1], [1.5], ['60000'], [true], [{}]])('%j is refused, and makes no task [C-057]', async (ttl) => {
    const peer = await LegacyPeer.connect(serve(register, someDays));
    const { error } = await peer.call('forever', {}, { task: { ttl } });
    expect(error).toEqual({ code: -32602, message: expect.stringContaining('params.task.ttl') });
    expect((await peer.send('tasks/list')).result).toEqual({ tasks: [] });
  });

  it('is the server’s where none is asked for [G2-S-25]', async () => {
    const peer = await LegacyPeer.connect(serve(register));
    expect(await peer.start('forever')).toMatchObject({ ttl: 7 * DAY });
    expect(await peer.start('forever', {}, { more: 'unknown' })).toMatchObject({ ttl: 7 * DAY });
  });
});

describe('at the end of its ttl', () => {
  it('a task that still works is ended, told as failed for a minute, and gone [G2-S-26] [G2-S-65] [C-020] [C-024]', async () => {
    const stopped = deferred();
    const served = serve((tasks) =>
      tasks.registerTool('long', {}, async (_args, task) => {
        await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve(), { once: true }));
        stopped.resolve();
        return text('too late');
      }),
    );
    const peer = await LegacyPeer.connect(served);
    const { taskId } = await peer.start('long', {}, { ttl: 5 * 60_000 });
    const waiting = peer.send('tasks/result', { taskId });
    await pass(served.clock, 5 * 60_000 - 1_000);
    expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'working', ttl: 300_000 });
    await pass(served.clock, 2_000);
    const expired = { code: -32603, message: expect.stringContaining('expired') };
    expect((await waiting).error).toMatchObject(expired);
    await stopped.promise;
    const failed = (await peer.send('tasks/get', { taskId })).result;
    expect(failed).toMatchObject({ status: 'failed', statusMessage: expect.stringContaining('expired') });
    expect((await peer.send('tasks/result', { taskId })).error).toMatchObject(expired);
    expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId, status: 'failed' }] });
    expect((await peer.send('tasks/cancel', { taskId })).error.code).toBe(-32602);
    await pass(served.clock, 61_000);
    await gone(peer, taskId);
  });

  it.each([['swept'], ['not swept yet']])(
    'a finished one is gone for every method alike, %s [G2-S-26] [G2-S-53] [G2-S-65] [C-024]',
    async (sweeping) => {
      const served = serve(register, sweeping === 'swept' ? {} : { tasks: { sweepMs: 10 * DAY } });
      const peer = await LegacyPeer.connect(served);
      const { taskId } = await peer.start('quick', {}, { ttl: HOUR });
      await peer.send('tasks/result', { taskId });
      served.clock.advance(HOUR - 1);
      await settle();
      expect((await peer.send('tasks/get', { taskId })).result).toMatchObject({ status: 'completed', ttl: HOUR });
      expect((await peer.send('tasks/result', { taskId })).result).toMatchObject({ content: [{ text: 'done' }] });
      expect((await peer.send('tasks/list')).result).toMatchObject({ tasks: [{ taskId }] });
      served.clock.advance(2);
      await settle();
      await gone(peer, taskId);
    },
  );
});

async function gone(peer: LegacyPeer, taskId: string): Promise<void> {
  for (const method of ['tasks/cancel', 'tasks/result', 'tasks/get']) {
    const { error } = await peer.send(method, { taskId });
    expect({ method, error }).toEqual({ method, error: { code: -32602, message: 'Task not found' } });
  }
  expect((await peer.send('tasks/list')).result).toEqual({ tasks: [] });
}
