import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL, TaskInterruptedError } from '../../src/core/index.ts';
import { type Tasks, type ToolTaskOptions, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { type Fate, mortal } from '../../src/testing/mortal.ts';
import { deferred, pass, reaches, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

let folder: ReturnType<typeof scratchFolder>;
let clock: ManualClock;
const open: Tasks[] = [];
beforeEach(() => {
  folder = scratchFolder();
  clock = new ManualClock();
});
afterEach(async () => {
  for (const tasks of open.splice(0)) await abandon(tasks);
  folder.remove();
});

/** A process of its own, as far as the store can tell: another connection, another worker. */
function aProcess(options: Parameters<typeof someTasks>[0] = {}): Tasks & Fate {
  const backend = mortal(sqliteStore(join(folder.path, 'tasks.db')));
  const { tasks } = someTasks({ store: backend, clock, ...options });
  open.push(tasks);
  const { kill, freeze, thaw } = backend;
  return Object.assign(tasks, { kill, freeze, thaw });
}

/** Lets the lease of everything that is not renewed run out, and the survivors take over. */
async function takeOver(survivor: Tasks, leaseMs = 30_001): Promise<void> {
  clock.advance(leaseMs);
  await survivor.engine.sweep();
  await settle();
}

const outcome = async (tasks: Tasks, taskId: string) => (await tasks.engine.wait(taskId, LOCAL_PRINCIPAL)).state;

const forever = (): Promise<never> => new Promise<never>(() => {});

describe('a task whose worker is gone', () => {
  const register = (tasks: Tasks, log: string[], task: Omit<ToolTaskOptions, 'prepare'>, hang?: () => Promise<never>) =>
    tasks.registerTool('work', { task }, async (_args, context) => {
      log.push(`start ${context.attempt}`);
      await context.step('one', () => void log.push('one'));
      await context.step('two', async () => {
        log.push('two');
        await hang?.();
      });
      return text(`done ${context.attempt}`);
    });

  it('goes on from its last step in another process: P4, P5 [C-032] [C-044]', async () => {
    const log: string[] = [];
    const gone = aProcess();
    register(gone, log, {}, forever);
    const { taskId } = await start(gone, 'work');
    await settle();
    const survivor = aProcess();
    register(survivor, log, {});
    await survivor.start();
    gone.kill();
    await takeOver(survivor);
    expect(await outcome(survivor, taskId)).toEqual({ status: 'completed', result: text('done 2') });
    expect(log).toEqual(['start 1', 'one', 'two', 'start 2', 'two']);
  });

  it('is not run again when nothing was recorded and nobody allowed it [C-048]', async () => {
    let runs = 0;
    const once = (tasks: Tasks, hang?: () => Promise<never>) =>
      tasks.registerTool('pay', {}, async () => {
        runs += 1;
        await hang?.();
        return text('paid');
      });
    const gone = aProcess();
    once(gone, forever);
    const { taskId } = await start(gone, 'pay');
    await settle();
    const survivor = aProcess();
    once(survivor);
    await survivor.start();
    gone.kill();
    await takeOver(survivor);
    const state = await outcome(survivor, taskId);
    expect(state).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/^interrupted: .*onWorkerLost/) },
    });
    expect(runs).toBe(1);
  });

  it('asks again what was asked, and finds what was answered', async () => {
    const asked: string[] = [];
    const ask = (tasks: Tasks) =>
      tasks.registerTool('approve', {}, async (_args, task) => {
        const schema = z.object({ ok: z.boolean() });
        asked.push(`run ${task.attempt}`);
        const first = await task.ask('first', { message: '1?', schema });
        asked.push(first.action);
        const second = await task.ask('second', { message: '2?', schema });
        return text(`${first.action} ${second.action}`);
      });
    const gone = aProcess();
    ask(gone);
    const { taskId } = await start(gone, 'approve');
    await reaches(gone, taskId, 'input_required');
    await gone.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['first', { action: 'decline' }]]));
    await settle();
    gone.kill();
    const survivor = aProcess();
    ask(survivor);
    await survivor.start();
    await takeOver(survivor);
    expect([...(await survivor.engine.openQuestions(taskId, LOCAL_PRINCIPAL)).keys()]).toEqual(['second']);
    await survivor.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['second', { action: 'cancel' }]]));
    expect(await outcome(survivor, taskId)).toMatchObject({ result: text('decline cancel') });
    expect(asked).toEqual(['run 1', 'decline', 'run 2', 'decline']);
  });

  it('changes nothing any more when the lost worker wakes up, and its handler is told to stop: P3 [C-041]', async () => {
    const wake = deferred();
    const told = deferred<unknown>();
    const sleepy = (tasks: Tasks, sleeps: boolean) =>
      tasks.registerTool('nap', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
        task.signal.addEventListener('abort', () => told.resolve(task.signal.reason));
        if (sleeps) await wake.promise;
        return text(sleeps ? 'late' : 'in time');
      });
    const slow = aProcess();
    sleepy(slow, true);
    const { taskId } = await start(slow, 'nap');
    await settle();
    slow.freeze(); // It lives, so it gets a lease's time to renew; then it is overtaken.
    const quick = aProcess();
    sleepy(quick, false);
    await quick.start();
    await takeOver(quick);
    await takeOver(quick);
    expect(await outcome(quick, taskId)).toMatchObject({ result: text('in time') });
    slow.thaw();
    clock.advance(10_000); // Its next heartbeat, if the bell has not told it before.
    await settle();
    expect(await told.promise).toBeInstanceOf(TaskInterruptedError);
    wake.resolve();
    await settle();
    expect(await outcome(quick, taskId)).toMatchObject({ result: text('in time') });
  });

  it('fails after its attempts are used up [C-047]', async () => {
    const runs: number[] = [];
    const poison = (tasks: Tasks) =>
      tasks.registerTool('poison', { task: { onWorkerLost: 'rerun', maxAttempts: 2 } }, async (_args, task) => {
        runs.push(task.attempt);
        await new Promise(() => {});
        return text('never');
      });
    const first = aProcess();
    poison(first);
    const { taskId } = await start(first, 'poison');
    await settle();
    first.kill();
    const second = aProcess();
    poison(second);
    await second.start();
    await takeOver(second);
    second.kill();
    const third = aProcess();
    poison(third);
    await third.start();
    await takeOver(third);
    expect(await outcome(third, taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/lost 2 times/) },
    });
    expect(runs).toEqual([1, 2]);
  });

  it('stays with a worker that renews, however long it takes [C-043]', async () => {
    const gate = deferred();
    let runs = 0;
    const tasks = aProcess();
    tasks.registerTool('long', { task: { onWorkerLost: 'rerun' } }, async () => {
      runs += 1;
      await gate.promise;
      return text('done');
    });
    const { taskId } = await start(tasks, 'long');
    for (let minute = 0; minute < 30; minute += 1) {
      for (let beat = 0; beat < 6; beat += 1) {
        clock.advance(10_000);
        await settle(4);
      }
    }
    gate.resolve();
    await outcome(tasks, taskId);
    expect(runs).toBe(1);
  });
});

describe('close', () => {
  it('hands back what is not finished in time, without spending an attempt [C-107]', async () => {
    const stopped: unknown[] = [];
    const attempts: number[] = [];
    const work = (tasks: Tasks, hangs: boolean) =>
      tasks.registerTool('work', {}, async (_args, task) => {
        attempts.push(task.attempt);
        task.signal.addEventListener('abort', () => stopped.push(task.signal.reason));
        await task.step('one', () => 1);
        if (hangs) await new Promise(() => {});
        return text('done');
      });
    const first = aProcess();
    work(first, true);
    const { taskId } = await start(first, 'work');
    await settle();
    await first.close();
    const second = aProcess();
    work(second, false);
    await second.start();
    expect(await outcome(second, taskId)).toMatchObject({ result: text('done') });
    expect(attempts).toEqual([1, 1]);
    expect(stopped[0]).toBeInstanceOf(TaskInterruptedError);
  });
});

describe('a task past its TTL', () => {
  it('is over for every reader at that moment, swept or not, and its handler is told [G3-S-25]', async () => {
    const told = deferred<unknown>();
    const tasks = aProcess({ sweepMs: 3_600_000 });
    tasks.registerTool('slow', { task: { ttlMs: 10_000 } }, async (_args, task) => {
      task.signal.addEventListener('abort', () => told.resolve(task.signal.reason));
      await new Promise(() => {});
      return text('never');
    });
    const { taskId } = await start(tasks, 'slow');
    clock.advance(10_000);
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({
      status: 'failed',
      error: { code: -32603, message: expect.stringMatching(/^expired/) },
    });
    await told.promise;
    clock.advance(60_000);
    await expect(tasks.engine.get(taskId, LOCAL_PRINCIPAL)).rejects.toThrow('Task not found');
  });

  it('does not wait its turn behind hundreds of others: the sweeper catches up', async () => {
    const tasks = aProcess({ maxOpenTasksPerPrincipal: 2_000, slots: 0 });
    tasks.registerTool('slow', { task: { ttlMs: 10_000 } }, forever);
    for (let n = 0; n < 1_000; n += 1) await start(tasks, 'slow');
    clock.advance(10_000);
    await settle();
    const failed = async () => (await tasks.inspect.counts()).byStatus.failed;
    expect(await failed()).toBe(200); // One round, of one batch.
    for (let n = 0; n < 10; n += 1) {
      clock.advance(50); // Far less than from one look to the next.
      await settle();
    }
    expect(await failed()).toBe(1_000);
  });

  it('lives as long as its requestor asked for, within what the server allows', async () => {
    const tasks = aProcess({ maxTtlMs: 60_000 });
    tasks.registerTool('slow', { task: { ttlMs: 20_000 } }, forever);
    const { definition } = tasks.tools[0]!;
    const asked = async (ttlMs: number) => {
      const request = {
        definition,
        principal: LOCAL_PRINCIPAL,
        input: {},
        revision: 'any',
        abilities: { form: false },
      };
      const { task } = await tasks.engine.create({ ...request, ttlMs });
      expect((await tasks.engine.get(task.taskId, LOCAL_PRINCIPAL)).ttlMs).toBe(task.ttlMs); // As it is told, so it is.
      expect(task.expiresAt).toBe(clock.now() + (task.ttlMs as number));
      return task.ttlMs;
    };
    expect(await asked(5_000)).toBe(5_000);
    expect(await asked(40_000)).toBe(40_000);
    expect(await asked(0.5)).toBe(1);
    expect(await asked(2 ** 53)).toBe(60_000);
  });

  it('is never granted more than the server allows', async () => {
    const tasks = aProcess({ maxTtlMs: 60_000 });
    tasks.registerTool('greedy', { task: { ttlMs: 3_600_000 } }, () => text('x'));
    expect((await start(tasks, 'greedy')).ttlMs).toBe(60_000);
  });
});

describe('a task that its owner deletes', () => {
  const anybody = { subject: 'somebody else' };

  it('is gone for everybody, with all that was kept of it, and its handler is told', async () => {
    const tasks = aProcess();
    const told = deferred<unknown>();
    tasks.registerTool('slow', {}, async (_args, task) => {
      task.signal.addEventListener('abort', () => told.resolve(task.signal.reason));
      task.log('a line');
      await task.step('one', () => 1);
      return forever();
    });
    const { taskId } = await start(tasks, 'slow');
    await settle();
    await expect(tasks.engine.delete(taskId, anybody)).rejects.toThrow('Task not found');
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    await tasks.engine.delete(taskId, LOCAL_PRINCIPAL);
    await expect(tasks.engine.get(taskId, LOCAL_PRINCIPAL)).rejects.toThrow('Task not found');
    await expect(tasks.engine.delete(taskId, LOCAL_PRINCIPAL)).rejects.toThrow('Task not found');
    expect((await tasks.inspect.list()).tasks).toEqual([]);
    expect(await told.promise).toBeInstanceOf(Error);
  });

  it('may be over, and takes its result along', async () => {
    const tasks = aProcess();
    tasks.registerTool('quick', {}, () => text('secret'));
    const { taskId } = await start(tasks, 'quick');
    await outcome(tasks, taskId);
    await tasks.engine.delete(taskId, LOCAL_PRINCIPAL);
    await expect(tasks.engine.get(taskId, LOCAL_PRINCIPAL)).rejects.toThrow('Task not found');
  });
});

/** Closes what a test opened; a process that was killed has nothing left to drain. */
async function abandon(tasks: Tasks): Promise<void> {
  await Promise.race([tasks.close(), settle(50)]);
}

describe('work', () => {
  it('works until it is closed', async () => {
    const server = aProcess({ slots: 0 });
    const worker = aProcess();
    for (const tasks of [server, worker]) tasks.registerTool('job', {}, () => text('done'));
    const working = worker.work({ signals: false });
    const { taskId } = await start(server, 'job');
    clock.advance(1_000); // The bell is real time's; the net and the sweep are the clock's.
    await settle();
    expect(await outcome(worker, taskId)).toMatchObject({ result: text('done') });
    await worker.close();
    await working;
  });
});

describe('a restart', () => {
  it('loses no task that waits: all of them run, each once, though no bell rings [C-038]', async () => {
    const runs: number[] = [];
    const register = (tasks: Tasks) =>
      tasks.registerTool('job', { inputSchema: z.object({ n: z.number() }) }, ({ n }) => {
        runs.push(n);
        return text('done');
      });
    const server = aProcess({ slots: 0 });
    register(server);
    const ids = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => (await start(server, 'job', { n })).taskId),
    );
    await server.close();
    const worker = aProcess();
    register(worker);
    await worker.start();
    for (const taskId of ids) await outcome(worker, taskId);
    expect(runs.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it('keeps a task for its owner, and for nobody else [C-030]', async () => {
    const before = aProcess({ slots: 0 });
    before.registerTool('job', {}, () => text('done'));
    const { taskId } = await start(before, 'job');
    await before.close();
    const after = aProcess({ slots: 0 });
    expect((await after.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    await expect(after.engine.get(taskId, { subject: 'somebody else' })).rejects.toThrow('Task not found');
  });

  it('gives a handler the arguments it was called with, however long it waited [C-031]', async () => {
    const seen: unknown[] = [];
    const register = (tasks: Tasks) =>
      tasks.registerTool('late', { inputSchema: z.object({ file: z.string() }) }, async (args, task) => {
        seen.push(args);
        await task.ask('go', { message: 'Go?', schema: z.object({ ok: z.boolean() }) });
        return text('done');
      });
    const first = aProcess();
    register(first);
    const { taskId } = await start(first, 'late', { file: 'a.txt' });
    await reaches(first, taskId, 'input_required');
    await first.close();
    clock.advance(5 * 86_400_000);
    const second = aProcess();
    register(second);
    await second.start();
    await second.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['go', { action: 'decline' }]]));
    await outcome(second, taskId);
    expect(seen).toEqual([{ file: 'a.txt' }, { file: 'a.txt' }]);
  });
});

describe('a wall clock that jumps', () => {
  it.each([
    ['forward by an hour, as after a sleep of the machine', 3_600_000],
    ['back by an hour', -3_600_000],
  ])('%s takes no task from a worker that lives [C-046]', async (_how, jumpMs) => {
    let runs = 0;
    const gate = deferred();
    const register = (tasks: Tasks) =>
      tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async () => {
        runs += 1;
        await gate.promise;
        return text('done');
      });
    const owner = aProcess();
    const standby = aProcess();
    register(owner);
    register(standby);
    const { taskId } = await start(owner, 'work');
    await standby.start();
    await settle();
    clock.jump(jumpMs);
    await standby.engine.sweep();
    await pass(clock, 60_000);
    gate.resolve();
    expect(await outcome(owner, taskId)).toMatchObject({ result: text('done') });
    expect(runs).toBe(1);
  });
});
