import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCAL_PRINCIPAL, StoreClosedError, StoreUnavailableError } from '../../src/core/index.ts';
import { type Tasks, text } from '../../src/engine/index.ts';
import { type Outlet, TaskFeed } from '../../src/server/subscriptions.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { deferred, reaches, settle, someTasks, start } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import { countReads, countWatches } from './listener.ts';
import { closing } from './peer.ts';

interface Told {
  params: { taskId: string; status: string; statusMessage?: string };
}

/** A feed whose messages are kept, and which has room as long as nobody says otherwise. */
function aFeed(tasks: Tasks, options: Partial<Outlet> = {}) {
  const told: Told[] = [];
  const over = deferred();
  const outlet: Outlet = {
    room: () => Promise.resolve(),
    send: (message) => void told.push(message as Told),
    ...options,
  };
  const feed = new TaskFeed(tasks, LOCAL_PRINCIPAL, 'sub', outlet, () => over.resolve());
  onTestFinished(() => feed.close());
  const accept = (...taskIds: string[]) => feed.accept(new Map(taskIds.map((taskId) => [taskId, { push: true }])));
  return { feed, told, over: over.promise, accept, statuses: () => told.map(({ params }) => params.status) };
}

function someWork(options: Parameters<typeof someTasks>[0] = {}) {
  const { tasks, clock } = someTasks(options);
  const go = deferred();
  tasks.registerTool('work', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
    for (let n = 1; n <= 1_000; n += 1) task.progress(n, 1_000);
    await go.promise;
    return text('done');
  });
  onTestFinished(() => closing(tasks, clock));
  return { tasks, clock, go };
}

/** The reports of a handler are written. */
async function report(clock: ManualClock): Promise<void> {
  clock.advance(100);
  await settle();
}

describe('a feed of tasks', () => {
  it('misses no end between its look at a task and its first word [C-023]', async () => {
    const { tasks, go } = someWork();
    const { taskId } = await start(tasks, 'work');
    const { feed, over, accept, statuses } = aFeed(tasks);
    expect(await accept(taskId)).toEqual(new Set([taskId]));
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    expect(statuses()).toEqual([]);
    feed.start();
    await over;
    expect(statuses()).toEqual(['completed']);
  });

  it('tells a burst of changes once, and waits for room without keeping old news [C-076]', async () => {
    const { tasks, clock, go } = someWork();
    const work = await Promise.all([start(tasks, 'work'), start(tasks, 'work')]);
    const ids = work.map(({ taskId }) => taskId);
    let room = deferred();
    const { feed, told, over, accept, statuses } = aFeed(tasks, { room: () => room.promise });
    await accept(...ids);
    feed.start();
    await report(clock);
    expect(told).toEqual([]);
    room.resolve();
    await settle();
    expect(told.map(({ params }) => params.statusMessage)).toEqual(['1000/1000', '1000/1000']);
    room = deferred();
    go.resolve();
    await reaches(tasks, ids[0]!, 'completed');
    await reaches(tasks, ids[1]!, 'completed');
    expect(told).toHaveLength(2);
    room.resolve();
    await over;
    expect(statuses().slice(2)).toEqual(['completed', 'completed']);
  });

  it('says nothing when nothing that can be seen has changed', async () => {
    const { tasks, clock, go } = someWork();
    const { taskId } = await start(tasks, 'work');
    const rung: (() => void)[] = [];
    const watch = tasks.engine.watch.bind(tasks.engine);
    tasks.engine.watch = (id, listener) => {
      rung.push(listener);
      return watch(id, listener);
    };
    const { feed, told, over, accept, statuses } = aFeed(tasks);
    await accept(taskId);
    await report(clock);
    feed.start();
    await settle();
    expect(told).toHaveLength(1);
    const reads = countReads(tasks);
    for (let n = 0; n < 100; n += 1) {
      for (const ring of rung) ring(); // As when another process has changed some task or other.
      await settle(3);
    }
    expect(told).toHaveLength(1);
    expect(reads.count).toBe(1); // And is not asked all the time.
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    clock.advance(250);
    await over;
    expect(statuses()).toEqual(['working', 'completed']);
  });

  it('lets go of everything when it is closed, whatever it is doing', async () => {
    const { tasks, clock, go } = someWork();
    const { taskId } = await start(tasks, 'work');
    await report(clock);
    const watches = countWatches(tasks);
    const timers = clock.pendingTimers;
    const rooms = deferred();
    const { feed, told, accept } = aFeed(tasks, { room: () => rooms.promise });
    await accept(taskId, 'nobody');
    expect(watches.open).toBe(1);
    feed.start();
    feed.close();
    rooms.resolve();
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    await settle();
    expect(told).toEqual([]);
    expect(watches.open).toBe(0);
    expect(clock.pendingTimers).toBeLessThanOrEqual(timers);
  });

  it('tries again when the store cannot be read, and ends when it is closed', async () => {
    let trouble: Error | undefined;
    const store = interceptedStore(async (method, call) => {
      if (method === 'get' && trouble !== undefined) throw trouble;
      return call();
    });
    const { tasks, clock, go } = someWork({ store });
    const { taskId } = await start(tasks, 'work');
    await report(clock);
    const { feed, told, over, accept } = aFeed(tasks);
    await accept(taskId);
    trouble = new StoreUnavailableError('disk full');
    feed.start();
    await settle();
    expect(told).toEqual([]);
    trouble = undefined;
    clock.advance(1_000);
    await settle();
    expect(told.map(({ params }) => params.status)).toEqual(['working']);
    trouble = new StoreClosedError();
    go.resolve(); // A change, which nobody can read any more.
    await over;
  });

  it('goes on after a message that could not be sent', async () => {
    const { tasks, clock, go } = someWork();
    const { taskId } = await start(tasks, 'work');
    let broken = true;
    const sent: Told[] = [];
    const { feed, over, accept } = aFeed(tasks, {
      send: async (message) => {
        if (broken) throw new Error('EPIPE');
        sent.push(message as Told);
      },
    });
    await accept(taskId);
    feed.start();
    await settle();
    broken = false;
    go.resolve();
    await reaches(tasks, taskId, 'completed');
    clock.advance(1_000);
    await over;
    expect(sent.map(({ params }) => params.status)).toEqual(['completed']);
  });
});
