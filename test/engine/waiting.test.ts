import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL, NonRetryableError, RetryAfterError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred, pass, reaches, recordingLogger, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

const HOUR = 3_600_000;
const schema = z.object({ ok: z.boolean() });
let open: Tasks[] = [];
afterEach(async () => {
  await Promise.all(open.map((tasks) => tasks.close()));
  open = [];
});

function fresh(options: Parameters<typeof someTasks>[0] = {}) {
  const made = someTasks(options);
  open.push(made.tasks);
  return made;
}

const outcome = async (tasks: Tasks, taskId: string) => (await tasks.engine.wait(taskId, LOCAL_PRINCIPAL)).state;
const answer = (tasks: Tasks, taskId: string, key: string) =>
  tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[key, { action: 'accept', content: { ok: true } }]]));

describe('sleep', () => {
  it('parks at once when it is long, holds no slot, and goes on at its time over its records', async () => {
    const { tasks, clock } = fresh({ slots: 1 });
    const log: string[] = [];
    tasks.registerTool('later', {}, async (_args, task) => {
      log.push(`run ${task.attempt}`);
      await task.step('before', () => void log.push('before'));
      await task.sleep(3 * HOUR);
      await task.step('after', () => void log.push('after'));
      return text('slept');
    });
    tasks.registerTool('quick', {}, () => text('quick'));
    const { taskId } = await start(tasks, 'later');
    await settle();
    await pass(clock, 0);
    await settle();
    expect(await outcome(tasks, (await start(tasks, 'quick')).taskId)).toMatchObject({ status: 'completed' });
    await pass(clock, 3 * HOUR - 1_000);
    await settle();
    expect(log).toEqual(['run 1', 'before']);
    await pass(clock, 1_000);
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('slept') });
    expect(log).toEqual(['run 1', 'before', 'run 1', 'after']);
  });

  it('naps in memory, and counts no active time', async () => {
    const { tasks, clock } = fresh();
    let runs = 0;
    tasks.registerTool('nap', { task: { timeoutMs: 5_000 } }, async (_args, task) => {
      runs += 1;
      await task.sleep(10_000);
      return text('rested');
    });
    const { taskId } = await start(tasks, 'nap');
    await settle();
    await pass(clock, 10_000);
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('rested') });
    expect(runs).toBe(1);
  });

  it('continues in another process, days later, with everything a handler has [C-062]', async () => {
    const folder = scratchFolder();
    const clock = new ManualClock();
    const store = () => sqliteStore(`${folder.path}/tasks.db`);
    const register = (tasks: Tasks) =>
      tasks.registerTool('later', {}, async (_args, task) => {
        await task.sleep(48 * HOUR);
        task.progress(1, 1, 'awake');
        task.log('awake');
        const key = await task.step('use', ({ idempotencyKey, signal }) => `${idempotencyKey} ${signal.aborted}`);
        return text(JSON.stringify([task.attempt, task.id, task.principal, task.prepared, task.signal.aborted, key]));
      });
    const first = someTasks({ store: store(), clock }).tasks;
    register(first);
    const { definition } = first.tools[0]!;
    const { taskId } = (
      await first.engine.create({
        definition,
        principal: LOCAL_PRINCIPAL,
        input: {},
        prepared: { plan: 'b' },
        revision: 'any',
        abilities: { form: false },
      })
    ).task;
    await settle();
    await pass(clock, 0);
    await settle();
    await first.close();
    await pass(clock, 47 * HOUR);
    const { tasks: second } = fresh({ store: store(), clock });
    register(second);
    await second.start();
    await settle();
    expect((await second.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    await pass(clock, HOUR);
    await settle();
    const facilities = [1, taskId, LOCAL_PRINCIPAL, { plan: 'b' }, false, `${taskId}/use#1 false`];
    expect(await outcome(second, taskId)).toMatchObject({ result: text(JSON.stringify(facilities)) });
    const { lines } = await second.engine.readLog(taskId, LOCAL_PRINCIPAL);
    expect(lines).toMatchObject([{ text: 'awake' }]);
    await second.close();
    folder.remove();
  });

  it('holds instead of parking where the handler may not run again', async () => {
    const { tasks, clock } = fresh();
    let runs = 0;
    tasks.registerTool('once', { task: { onWorkerLost: 'fail' } }, async (_args, task) => {
      runs += 1;
      await task.sleep(2 * HOUR);
      return text('ok');
    });
    const { taskId } = await start(tasks, 'once');
    for (let minute = 0; minute < 120; minute += 10) {
      await settle(4);
      await pass(clock, 600_000);
    }
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ status: 'completed' });
    expect(runs).toBe(1);
  });

  it('is not cut off while a step runs beside it', async () => {
    const { tasks, clock } = fresh();
    const gate = deferred();
    let steps = 0;
    tasks.registerTool('both', {}, async (_args, task) => {
      const work = task.step('work', async () => {
        steps += 1;
        await gate.promise;
      });
      await Promise.all([task.sleep(HOUR), work]);
      return text('both');
    });
    const { taskId } = await start(tasks, 'both');
    await settle();
    await pass(clock, HOUR / 2);
    await settle();
    gate.resolve();
    await settle();
    await pass(clock, HOUR / 2);
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('both') });
    expect(steps).toBe(1);
  });
});

describe('a question with a deadline', () => {
  const register = (tasks: Tasks, task = {}) =>
    tasks.registerTool('ask', { task }, async (_args, context) => {
      const { action } = await context.ask('go', { message: 'Go?', schema, timeoutMs: HOUR });
      return text(action);
    });

  it('is closed when nobody answers, though its handler was parked', async () => {
    const { tasks, clock } = fresh();
    register(tasks);
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    await pass(clock, 20_000);
    await settle();
    await pass(clock, HOUR - 20_000);
    await settle();
    await pass(clock, 0); // The handler runs again, and its deadline is due at once.
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('expired') });
    await answer(tasks, taskId, 'go'); // Too late, and no error.
  });

  it('is closed in memory where the handler may not be parked', async () => {
    const { tasks, clock } = fresh();
    register(tasks, { onWorkerLost: 'fail' });
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    await pass(clock, HOUR);
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('expired') });
  });

  it('takes an answer before it', async () => {
    const { tasks, clock } = fresh();
    register(tasks);
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    await pass(clock, 20_000);
    await settle();
    await pass(clock, 600_000);
    await answer(tasks, taskId, 'go');
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('accept') });
  });
});

describe('thinking time', () => {
  it('is not working time [C-072]', async () => {
    const { tasks, clock } = fresh();
    const gates = [deferred(), deferred()];
    tasks.registerTool('form', { task: { timeoutMs: 60_000 } }, async (_args, task) => {
      await task.step('before', () => gates[0]?.promise);
      const { action } = await task.ask('go', { message: 'Go?', schema });
      await task.step('after', () => gates[1]?.promise);
      return text(action);
    });
    const { taskId } = await start(tasks, 'form');
    await settle();
    await pass(clock, 5_000);
    gates[0]?.resolve();
    await reaches(tasks, taskId, 'input_required');
    await pass(clock, 20_000);
    await settle();
    await pass(clock, 54 * 60_000);
    await answer(tasks, taskId, 'go');
    await settle();
    await pass(clock, 50_000);
    await settle();
    gates[1]?.resolve();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('accept') });
  });

  it('leaves the limit in force for the work', async () => {
    const { tasks, clock } = fresh();
    tasks.registerTool('form', { task: { timeoutMs: 60_000 } }, async (_args, task) => {
      await task.ask('go', { message: 'Go?', schema });
      await task.step('after', () => new Promise(() => {}));
      return text('never');
    });
    const { taskId } = await start(tasks, 'form');
    await reaches(tasks, taskId, 'input_required');
    await pass(clock, 10_000);
    await answer(tasks, taskId, 'go');
    await settle();
    await pass(clock, 60_000);
    expect(await outcome(tasks, taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/timed out/) },
    });
  });
});

describe('retry', () => {
  const flaky = (tasks: Tasks, errors: unknown[], task: object = { retry: true }) => {
    const attempts: number[] = [];
    tasks.registerTool('flaky', { task }, async (_args, context) => {
      attempts.push(context.attempt);
      const error = errors[attempts.length - 1];
      if (error !== undefined) throw error;
      return text('made it');
    });
    return attempts;
  };

  it('happens only where it is asked for', async () => {
    const { tasks } = fresh();
    const attempts = flaky(tasks, [new Error('busy')], {});
    const { taskId } = await start(tasks, 'flaky');
    expect(await outcome(tasks, taskId)).toMatchObject({ status: 'failed', error: { message: 'busy' } });
    expect(attempts).toEqual([1]);
  });

  it('waits longer each time, spends attempts, and succeeds in the end', async () => {
    const { tasks, clock } = fresh();
    const attempts = flaky(tasks, [new Error('busy'), new Error('busy')], { retry: { backoffMs: 10_000 } });
    const { taskId } = await start(tasks, 'flaky');
    await settle();
    await pass(clock, 4_999); // At least half of the wait.
    await settle();
    expect(attempts).toEqual([1]);
    await pass(clock, 5_001);
    await settle();
    expect(attempts).toEqual([1, 2]);
    await pass(clock, 20_000);
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('made it') });
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('ends with the last error and what became of each attempt', async () => {
    const { tasks, clock } = fresh();
    flaky(tasks, [new Error('one'), new Error('two'), new Error('three')], { retry: { backoffMs: 100 } });
    const { taskId } = await start(tasks, 'flaky');
    for (let n = 0; n < 3; n += 1) {
      await settle();
      await pass(clock, 1_000);
    }
    const state = await outcome(tasks, taskId);
    expect(state).toMatchObject({
      status: 'failed',
      error: {
        code: -32603,
        message: 'three',
        data: {
          attempts: [
            { attempt: 1, outcome: 'failed', error: 'one' },
            { attempt: 2, error: 'two' },
            { attempt: 3, outcome: 'failed' },
          ],
        },
      },
    });
  });

  it('obeys an error that knows better: when, or that it is pointless', async () => {
    const { tasks, clock } = fresh();
    const attempts = flaky(tasks, [new RetryAfterError('later', 90_000), new NonRetryableError('never')]);
    const { taskId } = await start(tasks, 'flaky');
    await settle();
    await pass(clock, 89_000);
    await settle();
    expect(attempts).toEqual([1]);
    await pass(clock, 1_000);
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ status: 'failed', error: { message: 'never' } });
    expect(attempts).toEqual([1, 2]);
  });

  it('does not run a step again that failed for good', async () => {
    const { tasks, clock } = fresh();
    let calls = 0;
    const seen: string[] = [];
    tasks.registerTool('card', { task: { retry: { backoffMs: 10 } } }, async (_args, task) => {
      const charge = () => {
        calls += 1;
        throw new NonRetryableError('card refused');
      };
      await task.step('charge', charge).catch((error: Error) => seen.push(`${error.name} ${error.message}`));
      if (task.attempt === 1) throw new Error('something else');
      return text('told the customer');
    });
    const { taskId } = await start(tasks, 'card');
    await settle();
    await pass(clock, 1_000);
    await settle();
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('told the customer') });
    expect(calls).toBe(1);
    expect(seen).toEqual(Array(2).fill('NonRetryableError card refused'));
  });
});

describe('a handler that changed under a running task', () => {
  async function across(first: (tasks: Tasks) => void, second: (tasks: Tasks) => void) {
    const folder = scratchFolder();
    const clock = new ManualClock();
    const { logger, lines } = recordingLogger();
    const store = () => sqliteStore(`${folder.path}/tasks.db`);
    const { tasks: before } = someTasks({ store: store(), clock });
    first(before);
    const { taskId } = await start(before, 'work');
    await settle();
    await before.close();
    const { tasks: after } = someTasks({ store: store(), clock, logger });
    second(after);
    await after.start();
    const state = await outcome(after, taskId);
    const timeline = await after.inspect.timeline(taskId);
    await after.close();
    folder.remove();
    const noted = timeline.filter(({ type }) => type === 'handler_changed').map(({ body }) => body?.['how']);
    return { state, noted, warnings: lines.filter(({ level }) => level === 'warn').map(({ message }) => message) };
  }
  const work =
    (steps: string[], task: object = {}, hang = false) =>
    (tasks: Tasks) =>
      tasks.registerTool('work', { task }, async (_args, context) => {
        for (const name of steps) await context.step(name, () => name);
        if (hang) await new Promise(() => {});
        return text('done');
      });

  it('is said once, and goes on', async () => {
    const { state, warnings, noted } = await across(work(['a', 'b'], {}, true), work(['x', 'a', 'b']));
    expect(state).toMatchObject({ status: 'completed' });
    expect(warnings).toEqual([
      expect.stringMatching(/changed under a running task; the timeline of the task says how/),
    ]);
    expect(noted).toEqual(['it asked for step "x" where earlier runs had "a", "b"']);
  });

  it('is said when the version says so, or records are left over', async () => {
    const versions = await across(work(['a'], { version: '1' }, true), work(['a'], { version: '2' }));
    expect(versions.noted).toEqual([expect.stringMatching(/was version 1 and is version 2/)]);
    const left = await across(work(['a', 'b'], {}, true), work(['a']));
    expect(left.noted).toEqual([expect.stringMatching(/ended without asking for "b"/)]);
  });

  it('fails its task where the tool is strict', async () => {
    const { state } = await across(work(['a', 'b'], { strict: true }, true), work(['b', 'a'], { strict: true }));
    expect(state).toMatchObject({ status: 'completed' }); // The same steps in another order are still their own records.
    const changed = await across(work(['a', 'b'], { strict: true }, true), work(['x', 'a'], { strict: true }));
    expect(changed.state).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/changed under a running task/) },
    });
  });

  it('is not suspected where branches run beside each other', async () => {
    const branches = (hang: boolean) => (tasks: Tasks) =>
      tasks.registerTool('work', { task: { strict: true } }, async (_args, context) => {
        const branch = async (name: string) => {
          for (const n of [1, 2, 3]) await context.step(`${name}${n}`, () => n);
        };
        await Promise.all([branch('a'), branch('b'), branch('c')]);
        if (hang) await new Promise(() => {});
        await context.step('end', () => 1);
        return text('done');
      });
    const { state, warnings } = await across(branches(true), branches(false));
    expect(state).toMatchObject({ status: 'completed' });
    expect(warnings).toEqual([]);
  });
});

describe('a handler that does not stop', () => {
  it('keeps its slot for the grace, then is reported and left behind; nothing it does counts', async () => {
    const { logger, lines } = recordingLogger();
    const { tasks, clock } = fresh({ slots: 1, stopGraceMs: 5_000, logger });
    const release = deferred();
    tasks.registerTool('stubborn', {}, async (_args, task) => {
      await release.promise;
      await task.step('late', () => 1);
      return text('late');
    });
    tasks.registerTool('next', {}, () => text('next'));
    const { taskId } = await start(tasks, 'stubborn');
    await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    const next = await start(tasks, 'next');
    await settle();
    expect((await tasks.engine.get(next.taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    await pass(clock, 5_000);
    expect(await outcome(tasks, next.taskId)).toMatchObject({ status: 'completed' });
    expect(lines.map(({ message }) => message)).toContainEqual(expect.stringMatching(/ignores its signal/));
    release.resolve();
    await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('cancelled');
  });
});
