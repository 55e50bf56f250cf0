import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { deferred, pass, settle } from '../support/engine.ts';
import { withTasks } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { serve } from './peer.ts';

const keyed = (key: unknown) => ({ meta: { 'longcall/idempotencyKey': key } });
const inputSchema = z.object({ n: z.number() });

function counting(task: object = {}) {
  const runs: number[] = [];
  const gate = deferred();
  const served = serve((tasks) => {
    tasks.registerTool('pay', { inputSchema, task }, async ({ n }) => {
      runs.push(n);
      await gate.promise;
      return n < 0 ? { ...text('refused'), isError: true } : text(`paid ${n}`);
    });
    tasks.registerTool('other', { inputSchema }, () => text('other'));
  });
  return { ...served, runs, gate };
}

describe('an idempotency key', () => {
  it('is honoured, and the server says so', async () => {
    const { peer } = counting();
    const { result } = await peer.send('server/discover', {});
    expect(result['capabilities']).toMatchObject({ extensions: { 'longcall/idempotency': {} } });
  });

  it('makes a repeated call the same task, marked as existing: P8 [C-096]', async () => {
    const { peer, runs, gate } = counting();
    const first = await peer.start('pay', { n: 1 }, keyed('k'));
    const again = await peer.start('pay', { n: 1 }, keyed('k'));
    expect(again.taskId).toBe(first.taskId);
    expect(again['_meta']).toMatchObject({ 'longcall/existing': true });
    expect(first['_meta']).not.toHaveProperty('longcall/existing');
    expect((await peer.start('pay', { n: 1 }, keyed('new'))).taskId).not.toBe(first.taskId);
    gate.resolve();
    await settle();
    expect(runs).toEqual([1, 1]);
  });

  it('is the same for the same meaning, and an error for another [C-098]', async () => {
    const { peer } = counting();
    const { taskId } = await peer.start('pay', { n: 1, extra: { a: 1, b: 2 } }, keyed('k'));
    expect((await peer.start('pay', { extra: { b: 2, a: 1 }, n: 1.0 }, keyed('k'))).taskId).toBe(taskId);
    for (const args of [{ n: 2 }, { n: 1 }, { n: 1, extra: { a: 1, b: 2 }, more: null }]) {
      const { error } = await peer.call('pay', args, keyed('k'));
      expect(error).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/idempotency key .* other arguments; give a new call a new key/),
      });
    }
    expect((await peer.start('other', { n: 2 }, keyed('k'))).taskId).not.toBe(taskId); // Keys belong to a tool.
  });

  it('tells texts apart as they are written, and principals too [C-098]', async () => {
    const { peer, tasks } = counting();
    const composed = { n: 1, name: '\u00e9' };
    const { taskId } = await peer.start('pay', composed, keyed('k'));
    const decomposed = await peer.call('pay', { n: 1, name: 'e\u0301' }, keyed('k'));
    expect(decomposed.error).toMatchObject({ code: -32602, message: expect.stringMatching(/other arguments/) });
    const { definition } = tasks.tools[0]!;
    const foreign = await tasks.engine.create({
      definition,
      principal: { subject: 'bob' },
      input: { n: 2 },
      revision: '2026-07-28',
      abilities: { form: false },
      idempotencyKey: 'k',
    });
    expect(foreign.existing).toBe(false);
    expect(foreign.task.taskId).not.toBe(taskId);
  });

  it.each(['completed', 'failed', 'cancelled', 'input_required', 'working'])(
    'finds its task while that is %s, in this process and in the next [C-097]',
    async (status) => {
      const folder = scratchFolder();
      onTestFinished(folder.remove);
      let runs = 0;
      const opened = () =>
        serve(
          (tasks) =>
            tasks.registerTool('work', { inputSchema: z.object({ how: z.string() }) }, async ({ how }, task) => {
              runs += 1;
              if (how === 'completed') return text('done');
              if (how === 'failed') throw new Error('no');
              if (how === 'input_required') await task.ask('q', { message: '?', schema: z.object({}) });
              return new Promise<never>(() => {});
            }),
          { tasks: { store: sqliteStore(join(folder.path, 'tasks.db')) } },
        );
      const { peer, reaches } = opened();
      const { taskId } = await peer.start('work', { how: status }, keyed('k'));
      if (status === 'cancelled') await peer.cancel(taskId);
      await reaches(taskId, status);
      const again = [peer, peer, opened().peer].map((each) => each.start('work', { how: status }, keyed('k')));
      for (const { taskId: same } of await Promise.all(again)) expect(same).toBe(taskId);
      expect(runs).toBe(1);
    },
  );

  it('is free again once its task has expired [C-097]', async () => {
    const { peer, clock, gate } = counting({ ttlMs: 10_000, keepResultMs: 1_000 });
    gate.resolve();
    const { taskId } = await peer.start('pay', { n: 1 }, keyed('k'));
    await pass(clock, 20_000);
    expect((await peer.start('pay', { n: 2 }, keyed('k'))).taskId).not.toBe(taskId);
  });

  it('replays the result as it was, also after the end [C-009] [C-101]', async () => {
    const { peer, gate, reaches } = counting();
    gate.resolve();
    for (const n of [1, -1]) {
      const { taskId } = await peer.start('pay', { n }, keyed(`k${n}`));
      const { result } = await reaches(taskId, 'completed');
      const again = await peer.start('pay', { n }, keyed(`k${n}`));
      expect(again.taskId).toBe(taskId);
      expect((await reaches(taskId, 'completed'))['result']).toEqual(result);
    }
  });

  it('serves callers without tasks too: a repeated call joins the first', async () => {
    const { peer, runs, gate } = counting();
    const plain = { capabilities: {}, ...keyed('k') };
    const calls = [peer.call('pay', { n: 3 }, plain), peer.call('pay', { n: 3 }, plain)];
    await settle();
    gate.resolve();
    for (const { result } of await Promise.all(calls)) expect(result['content']).toEqual(text('paid 3').content);
    expect(runs).toEqual([3]);
  });

  it.each([7, '', 'x'.repeat(257), null, {}])('that is %j is refused, and no task is made', async (key) => {
    const { peer, runs } = counting();
    const { error } = await peer.call('pay', { n: 1 }, keyed(key));
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/idempotencyKey.*1 to 256/) });
    expect(runs).toEqual([]);
  });

  it("may come from the tool's author", async () => {
    const { peer, runs, gate } = counting({ dedupe: ({ n }: { n: number }) => `pay ${n}` });
    const first = await peer.start('pay', { n: 1 });
    expect((await peer.start('pay', { n: 1 })).taskId).toBe(first.taskId);
    expect((await peer.start('pay', { n: 2 })).taskId).not.toBe(first.taskId);
    gate.resolve();
    await settle();
    expect(runs).toEqual([1, 2]);
  });
});

describe('a keyed call whose caller vanishes before the answer', () => {
  async function vanish() {
    const served = counting();
    const abort = new AbortController();
    const call = served.peer.call('pay', { n: 1 }, { capabilities: {}, ...keyed('k'), signal: abort.signal });
    call.catch(() => {});
    await settle();
    abort.abort();
    await settle();
    return served;
  }

  it('waits for the repeat, which gets the same task', async () => {
    const { peer, clock, runs, gate } = await vanish();
    await pass(clock, 59_000);
    const { taskId } = await peer.start('pay', { n: 1 }, { capabilities: withTasks, ...keyed('k') });
    await pass(clock, 3_600);
    await settle();
    expect((await peer.get(taskId)).result['status']).toBe('working');
    gate.resolve();
    await settle();
    expect((await peer.get(taskId)).result['status']).toBe('completed');
    expect(runs).toEqual([1]);
  });

  it('is cancelled when nobody asks again', async () => {
    const { peer, clock } = await vanish();
    await pass(clock, 60_000);
    await settle();
    const { taskId } = await peer.start('pay', { n: 1 }, { capabilities: withTasks, ...keyed('k') });
    expect((await peer.get(taskId)).result['status']).toBe('cancelled');
  });
});
