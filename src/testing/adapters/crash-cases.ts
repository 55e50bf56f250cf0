import assert from 'node:assert/strict';
import {
  type AdapterCase,
  lever,
  method,
  recordsIntent,
  recordsRef,
  startsInDoubt,
  startsOnce,
  takesInput,
  throughTasks,
} from './adapter-case.ts';
import type { Point } from './dying.ts';
import type { TaskBench } from './task-bench.ts';

/** A process dies at a point of a job's start; another one takes the task over, and the job ends well. */
async function survives(on: TaskBench, point: Point): Promise<void> {
  const gone = await on.process({ point });
  const taskId = await on.call(gone, 'a');
  if (point.at === 'finish') {
    await on.started('a');
    await on.bench.system.finish('a', 'a is done');
  }
  await on.death(gone);
  const survivor = await on.process();
  if (point.at === 'finish') await on.completed(survivor, taskId, 'a');
  else await on.completes(survivor, taskId, 'a');
}

type Need = Parameters<typeof throughTasks>[1][number];

/** Where it does not matter what can be found out about a start. */
const ANYWHERE: [string, readonly Need[], Point][] = [
  [
    'has recorded that it is about to start it',
    [startsOnce, recordsIntent],
    { at: 'recordStep', nth: 1, when: 'after' },
  ],
  ['is about to start it', [startsOnce], { at: 'start', when: 'before' }],
  ['has started it', [startsOnce], { at: 'start', when: 'after' }],
  ['is about to record what it is known by', [startsOnce, recordsRef], { at: 'recordStep', nth: 1, when: 'before' }],
  ['has recorded what it is known by', [recordsRef], { at: 'poll', when: 'before' }],
  ['has looked at it for the first time', [], { at: 'poll', when: 'after' }],
  ['is about to record its end', [], { at: 'finish', nth: 1, when: 'before' }],
  ['has recorded its end', [], { at: 'finish', nth: 1, when: 'after' }],
];

/** Processes that die while they have a job done. */
export const crashCases: readonly AdapterCase[] = [
  ...ANYWHERE.map(([what, needs, point]) =>
    throughTasks(`does a job once, whose process dies when it ${what}`, needs, (on) => survives(on, point)),
  ),
  throughTasks('does a job once, whose process dies when it has found it', [method('find')], async (on) => {
    const first = await on.process({ point: { at: 'start', when: 'after' } });
    const taskId = await on.call(first, 'a');
    await on.death(first);
    const second = await on.process({ point: { at: 'find', when: 'after' } });
    await on.death(second);
    await on.completes(await on.process(), taskId, 'a');
  }),
  throughTasks('does a job once, however many processes are lost one after the other', [], async (on) => {
    let process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.started('a');
    for (let death = 0; death < 3; death += 1) {
      await on.bench.time.during('a look', async () => on.bench.time.step());
      process.kill();
      process = await on.process();
    }
    await on.completes(process, taskId, 'a');
  }),
  throughTasks(
    'tells a job as lost of which nobody knows whether it was started, and starts no other',
    [startsInDoubt],
    async (on) => {
      const gone = await on.process({ point: { at: 'start', when: 'after' } });
      const taskId = await on.call(gone, 'a');
      await on.death(gone);
      const state = await on.ends(await on.process(), taskId);
      assert.ok(state.status === 'failed', JSON.stringify(state));
      assert.deepEqual(state.error.data, { lost: true, mayHaveTakenEffect: true });
      assert.equal(await on.bench.system.started('a'), 1);
    },
  ),
  throughTasks(
    'gives a job its answer once, whose process dies when it has handed it over',
    [takesInput, lever('ask', 'answers')],
    async (on) => {
      const gone = await on.process({ point: { at: 'answer', when: 'after' } });
      const taskId = await on.call(gone, 'a');
      await on.started('a');
      await on.asks(gone, taskId, 'a');
      await on.answers(gone, taskId);
      await on.death(gone);
      const survivor = await on.process();
      if (on.bench.system.asksAnew === true) await on.answers(survivor, taskId);
      await on.answered('a');
      await on.completes(survivor, taskId, 'a');
      await on.answered('a');
    },
  ),
];
