import assert from 'node:assert/strict';
import { type AdapterCase, lever, method, startsOnce, throughTasks } from './adapter-case.ts';
import type { Burst } from './system.ts';
import type { TaskBench } from './task-bench.ts';

const TIMES = 3;
/** Whole seconds: HTTP knows nothing else. Longer than anybody waits by himself after so few failures. */
const retryAfterMs = (on: TaskBench): number => (on.bench.time.isReal ? 3_000 : 30_000);

/** A system in trouble is asked again, no sooner than it wants, until it does what it is asked for. */
async function ridesOut(on: TaskBench, burst: Omit<Burst, 'times'>): Promise<void> {
  const { system, time } = on.bench;
  const process = await on.process();
  let at: readonly number[] = [];
  const begins = async (): Promise<void> => {
    at = (await system.burst?.({ ...burst, times: TIMES }))?.at ?? [];
  };
  if (burst.on === 'start') await begins();
  const taskId = await on.call(process, 'a');
  if (burst.on === 'poll') {
    await on.started('a');
    await begins();
  }
  await time.until('it is asked again after the burst', () => at.length > TIMES);
  await on.completes(process, taskId, 'a');
  const { retryAfterMs: asked } = burst;
  if (asked === undefined) return;
  const waits = at.slice(1, TIMES + 1).map((one, n) => one - (at[n] ?? 0));
  const least = time.isReal ? asked - 50 : asked; // A timer of the machine may ring a moment early.
  assert.ok(
    waits.every((ms) => ms >= least),
    `it was to be left alone for ${asked} ms, and was asked after ${waits} ms`,
  );
}

/** A system that is busy, broken, slow to show things, or behind a network that loses answers. */
export const troubleCases: readonly AdapterCase[] = [
  throughTasks(
    'does a job once, the answer to whose start was lost',
    [startsOnce, lever('dropStartAnswer')],
    async (on) => {
      await on.bench.system.dropStartAnswer?.();
      const process = await on.process();
      const taskId = await on.call(process, 'a');
      await on.completes(process, taskId, 'a');
    },
  ),
  throughTasks('does a job once, whose start did not arrive at first', [lever('refuseStart')], async (on) => {
    await on.bench.system.refuseStart?.();
    const process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.completes(process, taskId, 'a');
  }),
  throughTasks(
    'does a job once, whose starts are answered with 429, as late as was asked for',
    [lever('burst')],
    (on) => ridesOut(on, { on: 'start', status: 429, retryAfterMs: retryAfterMs(on) }),
  ),
  throughTasks('does a job once, whose starts are answered with 500', [startsOnce, lever('burst')], (on) =>
    ridesOut(on, { on: 'start', status: 500 }),
  ),
  throughTasks(
    'sees a job through, looks at which are answered with 429, as late as was asked for',
    [lever('burst')],
    (on) => ridesOut(on, { on: 'poll', status: 429, retryAfterMs: retryAfterMs(on) }),
  ),
  throughTasks('sees a job through, looks at which are answered with 500', [lever('burst')], (on) =>
    ridesOut(on, { on: 'poll', status: 500 }),
  ),
  throughTasks(
    'waits for a job that is shown late, and does not take it for lost',
    [lever('hideStarted')],
    async (on) => {
      const { system, time } = on.bench;
      const show = await system.hideStarted?.();
      const process = await on.process();
      const taskId = await on.call(process, 'a');
      await on.started('a');
      for (let step = 0; step < 20; step += 1) await time.step();
      await show?.();
      await on.completes(process, taskId, 'a');
    },
  ),
  throughTasks(
    'starts no second job while the first is not shown yet',
    [startsOnce, method('find'), lever('hideStarted')],
    async (on) => {
      const { system, time } = on.bench;
      const show = await system.hideStarted?.();
      const gone = await on.process({ point: { at: 'start', when: 'after' } });
      const taskId = await on.call(gone, 'a');
      await on.death(gone);
      await on.started('a');
      const survivor = await on.process();
      for (let step = 0; step < 20; step += 1) await time.step();
      assert.equal(await system.started('a'), 1, 'another was started meanwhile');
      await show?.();
      await on.completes(survivor, taskId, 'a');
    },
  ),
];
