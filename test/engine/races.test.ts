import { afterEach, describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, recordingLogger, settle, someTasks, start } from '../support/engine.ts';

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

describe('races at the end of a task', () => {
  it('have one winner each, for ever: 500 completions against 500 cancels [C-021]', async () => {
    const { tasks } = fresh({ slots: 1_000, maxOpenTasksPerPrincipal: 2_000 });
    const gate = deferred();
    tasks.registerTool('race', {}, async () => {
      await gate.promise;
      return text('won');
    });
    const ids = await Promise.all(Array.from({ length: 500 }, async () => (await start(tasks, 'race')).taskId));
    gate.resolve();
    const cancels = await Promise.all(ids.map((taskId) => tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'late')));
    const ends = await Promise.all(ids.map((taskId) => outcome(tasks, taskId)));
    for (const [at, state] of ends.entries()) {
      expect(state.status).toBe(cancels[at] === 'cancelled' ? 'cancelled' : 'completed');
    }
    await settle();
    const again = await Promise.all(ids.map((taskId) => tasks.engine.get(taskId, LOCAL_PRINCIPAL)));
    expect(again.map(({ state }) => state)).toEqual(ends);
  });

  it.each([
    ['returns', () => text('late')],
    [
      'throws',
      () => {
        throw new Error('late');
      },
    ],
  ])('do not hurt the worker when its handler %s just after a cancel [C-022]', async (_how, end) => {
    const { logger, lines } = recordingLogger();
    const { tasks } = fresh({ logger, stopGraceMs: 5_000 });
    const gate = deferred();
    tasks.registerTool('late', {}, async () => {
      await gate.promise;
      return end();
    });
    tasks.registerTool('next', {}, () => text('next'));
    const { taskId } = await start(tasks, 'late');
    await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    gate.resolve();
    await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('cancelled');
    expect(await outcome(tasks, (await start(tasks, 'next')).taskId)).toMatchObject({ result: text('next') });
    expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  it('reach every waiter, however quick the task is [C-023]', async () => {
    const { tasks } = fresh({ slots: 64, maxOpenTasksPerPrincipal: 5_000 });
    tasks.registerTool('blink', {}, () => text('done'));
    const ends = await Promise.all(
      Array.from({ length: 2_000 }, async () => outcome(tasks, (await start(tasks, 'blink')).taskId)),
    );
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
  });

  it('leave no ghost: finishing a task that is gone brings nothing back [C-025]', async () => {
    const { tasks, clock } = fresh();
    const gate = deferred();
    tasks.registerTool('slow', { task: { ttlMs: 10_000 } }, async () => {
      await gate.promise;
      return text('late');
    });
    const { taskId } = await start(tasks, 'slow');
    await pass(clock, 10_000 + 61_000);
    gate.resolve();
    await settle();
    await expect(tasks.engine.get(taskId, LOCAL_PRINCIPAL)).rejects.toThrow('Task not found');
  });

  it('are no outage: a cancel in the middle of anything is logged as nothing worse than news [C-027]', async () => {
    const { logger, lines } = recordingLogger();
    const { tasks } = fresh({ logger, stopGraceMs: 5_000 });
    tasks.registerTool('step', {}, async (_args, task) => {
      await task.step(
        'wait',
        ({ signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      );
      return text('never');
    });
    tasks.registerTool('sleep', {}, async (_args, task) => {
      await task.sleep(15_000);
      return text('never');
    });
    for (const name of ['step', 'sleep']) {
      const { taskId } = await start(tasks, name);
      await settle();
      await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'asked for');
      await settle();
      expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual({
        status: 'cancelled',
        reason: 'asked for',
      });
    }
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('do not wait for the handler: cancel answers though it never settles [C-028]', async () => {
    const { tasks } = fresh();
    tasks.registerTool('stuck', {}, () => new Promise(() => {}));
    const { taskId } = await start(tasks, 'stuck');
    expect(await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL)).toBe('cancelled');
  });
});

describe('a life that ends', () => {
  it('aborts the handler and frees its slot for the next task [C-019]', async () => {
    const { tasks, clock } = fresh({ slots: 1 });
    tasks.registerTool('waits', { task: { ttlMs: 10_000 } }, async (_args, task) => {
      await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve()));
      return text('told');
    });
    tasks.registerTool('next', {}, () => text('next'));
    const { taskId } = await start(tasks, 'waits');
    const next = await start(tasks, 'next');
    await pass(clock, 11_000);
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toMatchObject({ status: 'failed' });
    expect(await outcome(tasks, next.taskId)).toMatchObject({ result: text('next') });
  });

  it('is told truly: a task that runs is found until the life it was granted is over [C-020]', async () => {
    const { tasks, clock } = fresh();
    tasks.registerTool('long', {}, () => new Promise(() => {}));
    const { taskId, ttlMs, createdAt } = await start(tasks, 'long');
    for (let minute = 0; minute < 10; minute += 1) {
      await pass(clock, 60_000);
      expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    }
    expect(createdAt + (ttlMs ?? 0)).toBeGreaterThan(clock.now());
  });

  it('is honoured by every method alike, swept or not [C-024]', async () => {
    const { tasks, clock } = fresh({ sweepMs: 86_400_000 });
    tasks.registerTool('asks', { task: { ttlMs: 10_000 } }, async (_args, task) => {
      await task.ask('q', { message: '?', schema: { type: 'object', properties: { ok: { type: 'boolean' } } } });
      return text('x');
    });
    const methods = {
      get: (taskId: string) => tasks.engine.get(taskId, LOCAL_PRINCIPAL).then(({ state }) => state.status),
      answer: (taskId: string) => tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map()).then(() => 'failed'),
      cancel: (taskId: string) =>
        tasks.engine.cancel(taskId, LOCAL_PRINCIPAL).then((how) => (how === 'already_terminal' ? 'failed' : how)),
    };
    for (const first of Object.values(methods)) {
      const { taskId } = await start(tasks, 'asks');
      await settle();
      clock.advance(10_000);
      expect(await first(taskId)).toBe('failed');
      for (const method of Object.values(methods)) expect(await method(taskId)).toBe('failed');
      clock.advance(60_000);
      for (const method of Object.values(methods)) await expect(method(taskId)).rejects.toThrow('Task not found');
    }
  });
});
