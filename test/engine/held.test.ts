import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isTerminal, LOCAL_PRINCIPAL, type Principal } from '../../src/core/index.ts';
import { text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { mortal } from '../../src/testing/mortal.ts';
import { deferred, pass, recordingLogger, settle, someTasks } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import { scratchFolder } from '../support/stores.ts';

const ALICE: Principal = { subject: 'alice' };

const REQUEST = {
  method: 'tools/call',
  name: 'build',
  principal: ALICE,
  input: { target: 'app' },
  revision: '2025-11-25',
  ttlMs: 60_000,
};

/** Work held by one process; `slots: 0`, since held work needs none. */
function holder(options: Parameters<typeof someTasks>[0] = {}) {
  const { tasks, clock } = someTasks({ slots: 0, ...options });
  onTestFinished(async () => void (await Promise.race([tasks.close(), settle(50)]))); // The dead never do.
  return { tasks, clock, engine: tasks.engine, held: tasks.engine.held };
}

function database(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'tasks.db');
}

describe('work that is held beside the engine', () => {
  it('is on disk, leased and on record before anybody is told', async () => {
    const { tasks, held, engine } = holder();
    const task = await held.hold({ ...REQUEST, context: { queue: 'q1' } });
    expect(await tasks.inspect.get(task.taskId)).toMatchObject({
      principal: ALICE,
      name: 'build',
      runState: 'leased',
      onWorkerLost: 'held',
      ttlMs: 60_000,
    });
    expect(await tasks.inspect.payloads(task.taskId)).toMatchObject({
      input: { target: 'app' },
      prepared: { queue: 'q1' },
    });
    expect(held.signalOf(task.taskId).aborted).toBe(false);
    expect(await engine.get(task.taskId, ALICE)).toMatchObject({ state: { status: 'working' } });
  });

  it('ends with what it came to, once', async () => {
    const { engine, held } = holder();
    const { taskId } = await held.hold(REQUEST);
    const signal = held.signalOf(taskId);
    expect(await held.complete(taskId, text('built'))).toBe('applied');
    expect(await held.complete(taskId, text('again'))).toBe('over');
    expect(await held.fail(taskId, 'no')).toBe('over');
    expect(await held.report(taskId, { statusMessage: 'late' })).toBe('over');
    expect((await engine.get(taskId, ALICE)).state).toEqual({ status: 'completed', result: text('built') });
    await settle();
    expect(signal.aborted, 'its own end is no reason to stop').toBe(false);
  });

  it('fails without a result, and with one that cannot be kept', async () => {
    const { engine, held } = holder({ maxResultBytes: 1_024 });
    const ends = [
      [(id: string) => held.fail(id, 'no disk'), 'no disk'],
      [(id: string) => held.complete(id, text('x'.repeat(2_000))), 'bytes; at most 1024 are kept'],
      [(id: string) => held.complete(id, 'no object'), 'the result of build: it is not an object'],
    ] as const;
    for (const [end, message] of ends) {
      const { taskId } = await held.hold(REQUEST);
      expect(await end(taskId)).toBe('applied');
      const { state } = await engine.get(taskId, ALICE);
      expect(state).toMatchObject({
        status: 'failed',
        error: { code: -32603, message: expect.stringContaining(message) },
      });
    }
  });

  it('says how it goes, and that it waits', async () => {
    const { engine, held } = holder();
    const { taskId } = await held.hold(REQUEST);
    expect(await held.report(taskId, { statusMessage: 'half', waiting: true })).toBe('applied');
    expect(await engine.get(taskId, ALICE)).toMatchObject({
      state: { status: 'input_required' },
      statusMessage: 'half',
    });
    expect(await held.report(taskId, { waiting: false })).toBe('applied');
    expect((await engine.get(taskId, ALICE)).state.status).toBe('working');
  });

  it('hears that it is wanted no more: cancelled, expired', async () => {
    const { engine, held, clock } = holder();
    const { taskId } = await held.hold(REQUEST);
    const signal = held.signalOf(taskId);
    await engine.cancel(taskId, ALICE, 'changed my mind');
    await settle();
    expect(signal.aborted && String(signal.reason)).toContain('cancelled');
    expect(held.signalOf(taskId)).toBe(signal);
    expect(await held.complete(taskId, text('late'))).toBe('over');
    expect((await engine.get(taskId, ALICE)).state).toEqual({ status: 'cancelled', reason: 'changed my mind' });

    const second = await held.hold(REQUEST);
    await pass(clock, 60_001);
    expect(held.signalOf(second.taskId).aborted).toBe(true);
    expect((await engine.get(second.taskId, ALICE)).state).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('expired') },
    });
  });

  it('knows no work but its own kind', async () => {
    const { tasks, held } = holder({ slots: 1 });
    tasks.registerTool('ours', {}, (_args, task) => task.sleep(1_000_000).then(() => text('never')));
    const { task } = await tasks.engine.create({
      definition: tasks.tools[0]!.definition,
      principal: ALICE,
      input: {},
      revision: '2025-11-25',
      abilities: { form: false },
    });
    expect(await held.complete(task.taskId, text('forged'))).toBe('not_held');
    expect(await held.fail('tsk_none', 'x')).toBe('unknown');
    expect(held.signalOf('tsk_none').aborted).toBe(true);
  });

  it('keeps its lease as long as the process lives', async () => {
    const { engine, held, clock } = holder();
    const { taskId } = await held.hold({ ...REQUEST, ttlMs: null });
    await pass(clock, 3 * 3_600_000);
    expect((await engine.get(taskId, ALICE)).state.status).toBe('working');
    expect(await held.complete(taskId, text('slow'))).toBe('applied');
  });

  it('is failed as interrupted when its process stops, and takes nothing more', async () => {
    const path = database();
    const { engine, held, clock } = holder({ store: sqliteStore(path) });
    const { taskId } = await held.hold(REQUEST);
    const signal = held.signalOf(taskId);
    const closed = engine.close(10_000);
    await settle();
    await expect(held.hold(REQUEST)).rejects.toThrow('closed');
    expect(signal.aborted, 'it may still finish').toBe(false);
    clock.advance(10_000);
    await closed;
    expect(String(signal.reason)).toContain('this process stops');
    const next = holder({ store: sqliteStore(path), clock });
    expect((await next.engine.get(taskId, ALICE)).state).toEqual({
      status: 'failed',
      error: {
        code: -32603,
        message:
          'interrupted: the worker was stopped and the task was not run again, since its work ended with the process that did it',
      },
    });
  });

  it('is ended, and not left for others, when its process stops just as it is created', async () => {
    const gate = deferred();
    const arrived = deferred();
    const writes: string[] = [];
    const store = interceptedStore(async (method, call) => {
      if (method === 'finish' || method === 'release') writes.push(method);
      const value = await call();
      if (method !== 'create') return value;
      arrived.resolve();
      await gate.promise;
      return value;
    });
    const { engine, held } = holder({ store });
    const holding = held.hold(REQUEST);
    await arrived.promise;
    const closed = engine.close();
    await settle();
    gate.resolve();
    const { taskId } = await holding;
    await closed;
    expect(writes).toEqual(['finish']);
    expect(String(held.signalOf(taskId).reason)).toContain('this process stops');
  });

  it('is failed as interrupted by whoever is left when its process dies; nobody runs it again', async () => {
    const path = database();
    const clock = new ManualClock();
    const dying = mortal(sqliteStore(path));
    const first = holder({ store: dying, clock });
    const { taskId } = await first.held.hold(REQUEST);
    const done = await first.held.hold(REQUEST);
    await first.held.complete(done.taskId, text('kept'));
    const second = holder({ store: sqliteStore(path), clock, slots: 4 });
    second.tasks.registerTool('build', {}, () => text('never'));
    await second.tasks.start();
    dying.kill();
    await second.engine.sweep();
    expect((await second.engine.get(taskId, ALICE)).state).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/^interrupted: the worker was lost .*its work ended with the process/) },
    });
    expect((await second.engine.get(done.taskId, ALICE)).state).toEqual({ status: 'completed', result: text('kept') });
    expect(await second.held.complete(taskId, text('late'))).toBe('over');
    expect(await second.tasks.inspect.requeue(taskId)).toEqual({ outcome: 'held' });
    expect(second.engine.runs).toBe(0);
  });

  it('may be ended by another process on the same store, and then stops here', async () => {
    const path = database();
    const first = holder({ store: sqliteStore(path) });
    const second = holder({ store: sqliteStore(path), clock: first.clock });
    const { taskId } = await first.held.hold(REQUEST);
    const signal = first.held.signalOf(taskId);
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    expect(await second.held.report(taskId, { statusMessage: 'over there' })).toBe('applied');
    expect(await second.held.complete(taskId, text('from elsewhere'))).toBe('applied');
    const ended = await first.engine.wait(taskId, ALICE);
    expect(ended.state).toEqual({ status: 'completed', result: text('from elsewhere') });
    await stopped;
    expect(await first.held.complete(taskId, text('late'))).toBe('over');
  });

  it('counts among the open tasks of its owner', async () => {
    const { held } = holder({ maxOpenTasksPerPrincipal: 2, maxArgumentBytes: 1_024 });
    await held.hold(REQUEST);
    const { taskId } = await held.hold(REQUEST);
    await expect(held.hold(REQUEST)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await held.complete(taskId, text('one less'));
    await expect(held.hold({ ...REQUEST, input: 'x'.repeat(2_000) })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await held.hold({ ...REQUEST, principal: LOCAL_PRINCIPAL });
    await held.hold(REQUEST);
  });

  it('lets a racing cancel and end decide in the store, and stops the work only if the cancel won', async () => {
    const { logger, lines } = recordingLogger();
    const { engine, held } = holder({ logger });
    for (let round = 0; round < 20; round += 1) {
      const { taskId } = await held.hold(REQUEST);
      const signal = held.signalOf(taskId);
      const race = [() => held.complete(taskId, text('done')), () => engine.cancel(taskId, ALICE)];
      if (round % 2 === 1) race.reverse();
      await Promise.all(race.map((start) => start()));
      await settle();
      const { state } = await engine.get(taskId, ALICE);
      expect(isTerminal(state)).toBe(true);
      expect(signal.aborted).toBe(state.status === 'cancelled');
    }
    expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });
});
