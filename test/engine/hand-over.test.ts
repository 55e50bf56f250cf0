import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, StoreFailedError, StoreUnavailableError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, settle, someTasks, start } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';

const outcome = async (tasks: Tasks, taskId: string) => (await tasks.engine.wait(taskId, LOCAL_PRINCIPAL)).state;

/** What the last process left in its store, read by operators' means before it closes for good. */
function closingWith(held: Promise<unknown>, then: () => Promise<unknown>) {
  const releases: string[] = [];
  const store = interceptedStore(async (method, call) => {
    if (method === 'recordStep') {
      await held;
      await then();
    }
    if (method === 'release' || method === 'finish') releases.push(method);
    return call();
  });
  return { store, releases };
}

describe('a worker that is told to stop while a step is on its way to the store', () => {
  async function stopped(then: () => Promise<unknown>): Promise<string[]> {
    const gate = deferred();
    const { store, releases } = closingWith(gate.promise, then);
    const { tasks } = someTasks({ store });
    const reached = deferred();
    tasks.registerTool('work', {}, async (_args, task) => {
      await task.step('one', () => reached.resolve());
      return new Promise<never>(() => {});
    });
    await start(tasks, 'work');
    await reached.promise;
    await settle();
    const closing = tasks.close();
    await settle();
    expect(releases).toEqual([]); // Not decided yet: whether it may run again hangs on that step.
    gate.resolve();
    await closing;
    return releases;
  }

  it('hands the task over where it arrived: the next run takes it from there', async () => {
    expect(await stopped(async () => {})).toEqual(['release']);
  });

  it('ends the task where it did not: its handler took part in nothing and may not run twice', async () => {
    const fails = () => Promise.reject(new StoreFailedError('a page is damaged'));
    expect(await stopped(fails)).toEqual(['finish']);
  });
});

describe('a task that came when its worker was about to stop', () => {
  it('is handed back, however often the store has to be asked', async () => {
    let refusals = 2;
    const creating = deferred();
    const store = interceptedStore(async (method, call) => {
      if (method === 'create') await creating.promise;
      if (method === 'release' && refusals > 0) {
        refusals -= 1;
        throw new StoreUnavailableError('database or disk is full');
      }
      return call();
    });
    const { tasks, clock } = someTasks({ store });
    let runs = 0;
    tasks.registerTool('work', {}, () => {
      runs += 1;
      return text('done');
    });
    await tasks.start();
    const created = start(tasks, 'work');
    await settle();
    const closing = tasks.close();
    creating.resolve();
    await created;
    await settle();
    for (let n = 0; n < 4; n += 1) await pass(clock, 500);
    await closing;
    expect({ runs, refusals }).toEqual({ runs: 0, refusals: 0 });
  });
});

describe('a later run of a task', () => {
  it('is not forgotten by the end of an earlier one in the same process', async () => {
    const { tasks, clock } = someTasks({ stopGraceMs: 60_000, leaseMs: 1_000, heartbeatMs: 100 });
    const gates = [deferred(), deferred()];
    let runs = 0;
    tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async () => {
      runs += 1;
      await gates[runs - 1]!.promise;
      return text(`run ${runs}`);
    });
    const { taskId } = await start(tasks, 'work');
    await settle();
    clock.advance(20_000); // The process stood still: its lease is gone, and with it the first run.
    await settle();
    for (let n = 0; n < 50 && runs < 2; n += 1) {
      await pass(clock, 100);
      await tasks.engine.sweep();
    }
    expect(runs).toBe(2);
    gates[0]!.resolve(); // The first handler ends long after the second began.
    await settle();
    for (let n = 0; n < 30; n += 1) await pass(clock, 100); // Longer than a lease: the second run is still renewed.
    await tasks.engine.sweep();
    gates[1]!.resolve();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('run 2') });
    await tasks.close();
  });
});
