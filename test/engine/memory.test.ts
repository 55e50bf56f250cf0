import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle, someTasks, start } from '../support/engine.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Runs ten tasks of a tool whose handler holds an object each; tells how many of those are left after `putAway`. */
async function leftAfter(
  tasks: Tasks,
  work: Parameters<typeof tasks.registerTool>[2],
  putAway: () => Promise<unknown>,
): Promise<number> {
  const held: WeakRef<object>[] = [];
  tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async (args, task) => {
    const heavy = { bytes: Buffer.alloc(1_000) };
    held.push(new WeakRef(heavy));
    const result = await (work as (args: unknown, task: unknown) => Promise<object>)(args, task);
    return { ...text(String(heavy.bytes.length)), ...result };
  });
  for (let n = 0; n < 10; n += 1) await start(tasks, 'work');
  await settle();
  const first = held.slice();
  expect(first).toHaveLength(10);
  await putAway();
  await settle();
  collect();
  return first.filter((reference) => reference.deref() !== undefined).length;
}

it('keeps nothing of a handler that was put away while its task waits for an answer or a time', async () => {
  const { tasks, clock } = someTasks({ holdInputMs: 1_000 });
  const schema = z.object({ ok: z.boolean() });
  let turn = 0;
  const left = await leftAfter(
    tasks,
    async (_args, task) => {
      turn += 1;
      if (turn % 2 === 0) await task.sleep(3_600_000);
      else await task.ask('q', { message: '?', schema });
      return text('');
    },
    () => pass(clock, 5_000),
  );
  expect((await tasks.inspect.counts()).byRunState).toMatchObject({ leased: 0 });
  expect(left).toBe(0);
  await tasks.close();
});

it('keeps nothing of a handler that was lost, once what it was waiting for has come', async () => {
  const { tasks, clock } = someTasks({ stopGraceMs: 0, slots: 100 });
  let gate = deferred();
  const left = await leftAfter(
    tasks,
    async (_args, task) => {
      await task.step('one', () => gate.promise);
      return text('');
    },
    async () => {
      clock.advance(300_000); // The process stood still: every lease is gone, and others may have the tasks.
      await settle();
      const late = gate;
      gate = deferred();
      late.resolve();
    },
  );
  expect(left).toBe(0);
  gate.resolve();
  await tasks.close();
});
