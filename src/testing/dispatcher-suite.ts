import assert from 'node:assert/strict';
import type { TaskId } from '../core/index.ts';
import type { Dispatcher } from '../store/index.ts';
import { aTask } from './builders.ts';
import { ManualClock } from './manual-clock.ts';
import { ALICE, claimOne, createAndClaim, DONE, MALLORY, type OpenStore, onStore, QUESTION, YES } from './on-store.ts';
import type { SuiteCase } from './suite.ts';

/** Opens one store twice, as two processes on it would, on the clock both are given. */
export type OpenTwice = (options: {
  clock: ManualClock;
}) => Promise<[Awaited<ReturnType<OpenStore>>, Awaited<ReturnType<OpenStore>>]>;

const take = (dispatcher: Dispatcher, limit = 10) => dispatcher.take({ limit, names: ['transcode'] });
const ready = async (dispatcher: Dispatcher, limit?: number): Promise<string[]> =>
  (await take(dispatcher, limit)).tasks.map(({ taskId }) => taskId);

/** What every dispatcher promises to the workers of one process. Each case opens a store of its own. */
export const dispatcherSuite: readonly SuiteCase<OpenStore>[] = [
  onStore('offers what is ready, oldest first, and no more than asked for', async ({ store, dispatcher, clock }) => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      ids.push((await store.create(aTask({ principal: ALICE }))).task.taskId);
      clock.advance(10);
    }
    assert.deepEqual(await ready(dispatcher, 3), ids.slice(0, 3));
    assert.deepEqual(await ready(dispatcher, 3), ids.slice(0, 3), 'an offer is no claim');
    await store.claim(ids.slice(0, 2), { workerId: 'w1', leaseMs: 30_000 });
    assert.deepEqual(await ready(dispatcher, 3), ids.slice(2));
  }),
  onStore('offers nothing that is leased, parked or over', async ({ store, dispatcher }) => {
    await createAndClaim(store);
    const parked = await createAndClaim(store);
    await store.ask(parked.lease, 'q', QUESTION);
    await store.release(parked.lease, { to: 'parked' }, 0);
    const done = await createAndClaim(store);
    await store.finish(done.lease, DONE);
    const { task } = await store.create(aTask({ principal: ALICE }));
    await store.cancel(task.taskId, ALICE);
    assert.deepEqual(await take(dispatcher), { tasks: [] });
  }),
  onStore('offers a released task again, and one whose answer has come', async ({ store, dispatcher }) => {
    const released = await createAndClaim(store);
    await store.release(released.lease, { to: 'ready' }, 0);
    assert.deepEqual(await ready(dispatcher), [released.lease.taskId]);
    await claimOne(store, released.lease.taskId);
    const parked = await createAndClaim(store);
    await store.ask(parked.lease, 'q', QUESTION);
    await store.release(parked.lease, { to: 'parked' }, 0);
    await store.answer(parked.lease.taskId, ALICE, new Map([['q', YES]]));
    assert.deepEqual(await ready(dispatcher), [parked.lease.taskId]);
  }),
  onStore(
    'offers at once what was put away until later and is woken, and nothing else',
    async ({ store, dispatcher, clock }) => {
      const { lease } = await createAndClaim(store);
      assert.equal(await store.wake(lease.taskId), false); // Somebody works on it.
      await store.release(lease, { to: 'parked', wakeAt: clock.now() + 60_000 }, 0);
      assert.deepEqual(await ready(dispatcher), []);
      assert.equal(await store.wake(lease.taskId), true);
      assert.deepEqual(await ready(dispatcher), [lease.taskId]);
      assert.equal(await store.wake(lease.taskId), false);
      assert.equal(await store.wake('tsk_none'), false);
    },
  ),
  onStore('says when to look again, and offers a task at its time', async ({ store, dispatcher, clock }) => {
    const later = await createAndClaim(store);
    await store.release(later.lease, { to: 'ready', availableAt: clock.now() + 9_000 }, 0);
    const sooner = await createAndClaim(store);
    await store.release(sooner.lease, { to: 'retry', availableAt: clock.now() + 5_000, error: 'x' }, 0);
    assert.deepEqual(await take(dispatcher), { tasks: [], nextAt: clock.now() + 5_000 });
    clock.advance(5_000);
    assert.deepEqual(await ready(dispatcher), [sooner.lease.taskId]);
    assert.equal((await take(dispatcher)).nextAt, clock.now() + 4_000);
    clock.advance(4_000);
    assert.deepEqual((await ready(dispatcher)).sort(), [later.lease.taskId, sooner.lease.taskId].sort());
  }),
  onStore('offers every principal its share, and only the tools asked for', async ({ store, dispatcher }) => {
    for (let n = 0; n < 300; n += 1) await store.create(aTask({ principal: ALICE }));
    const { task: one } = await store.create(aTask({ principal: MALLORY }));
    await store.create(aTask({ principal: MALLORY, name: 'unknown' }));
    const { tasks } = await take(dispatcher, 10);
    assert.equal(tasks.length, 6, 'five of one, and all the other has');
    assert.ok(tasks.some(({ taskId }) => taskId === one.taskId));
    assert.ok(tasks.every(({ name }) => name === 'transcode'));
    assert.deepEqual((await dispatcher.take({ limit: 10, names: [] })).tasks, []);
  }),
  onStore('lets many principals take turns', async ({ store, dispatcher }) => {
    for (let n = 0; n < 100; n += 1) await store.create(aTask({ principal: { tenant: 't', subject: `user ${n}` } }));
    const served = new Set<string>();
    for (let round = 0; round < 8; round += 1) {
      const { tasks } = await take(dispatcher, 64);
      for (const { principal } of tasks) served.add(principal.subject);
    }
    assert.equal(served.size, 100);
  }),
  onStore('rings for what changed, until it is told not to', async ({ store, dispatcher }) => {
    const rung: string[] = [];
    const unsubscribe = dispatcher.onBell((changed) => rung.push(...(changed ?? ['anything'])));
    const { lease } = await createAndClaim(store);
    await store.finish(lease, DONE);
    assert.deepEqual(rung, [lease.taskId, lease.taskId]);
    unsubscribe();
    await store.create(aTask());
    assert.equal(rung.length, 2);
  }),
  onStore('rings for every change a reader can see', async ({ store, dispatcher }) => {
    const rung = new Set<TaskId>();
    dispatcher.onBell((changed) => {
      for (const taskId of changed ?? []) rung.add(taskId);
    });
    const rings = async (what: string, taskId: TaskId, change: () => Promise<unknown>): Promise<void> => {
      rung.clear();
      await change();
      assert.ok(rung.has(taskId), `${what} did not ring`);
    };
    const { lease } = await createAndClaim(store);
    const { taskId } = lease;
    await rings('a question', taskId, () => store.ask(lease, 'q', QUESTION));
    await rings('an answer', taskId, () => store.answer(taskId, ALICE, new Map([['q', YES]])));
    await rings('progress', taskId, () => store.report(lease, { progress: { progress: 1 } }));
    await rings('a release', taskId, () => store.release(lease, { to: 'ready' }, 0));
    await rings('a cancel', taskId, () => store.cancel(taskId, ALICE));
    await rings('a removal', taskId, () => store.remove(taskId));
  }),
];

/** A case on one store that is opened twice. */
function onTwo(
  name: string,
  test: (bench: {
    here: Awaited<ReturnType<OpenStore>>;
    there: Awaited<ReturnType<OpenStore>>;
    /** Lets time pass until `holds`, for whatever a lost bell is caught by. */
    until(holds: () => boolean): Promise<void>;
  }) => Promise<void>,
): SuiteCase<OpenTwice> {
  return {
    name,
    async run(open) {
      const clock = new ManualClock();
      const [here, there] = await open({ clock });
      const until = async (holds: () => boolean): Promise<void> => {
        for (let turn = 0; !holds(); turn += 1) {
          assert.ok(turn < 2_000, 'nothing rang');
          clock.advance(25);
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      try {
        await test({ here, there, until });
      } finally {
        await here.store.close();
        await there.store.close();
      }
    },
  };
}

/** What a store promises to several processes on it, in which a dispatcher brings the news of one to the others. */
export const sharedStoreSuite: readonly SuiteCase<OpenTwice>[] = [
  onTwo('tells each process what the other changed', async ({ here, there, until }) => {
    const heard: (ReadonlySet<TaskId> | undefined)[] = [];
    there.dispatcher.onBell((changed) => heard.push(changed));
    here.dispatcher.onBell(() => {});
    const { task } = await here.store.create(aTask({ principal: ALICE }));
    const news = (): boolean => heard.some((changed) => changed === undefined || changed.has(task.taskId));
    await until(news);
    assert.deepEqual(await ready(there.dispatcher), [task.taskId]);
    heard.length = 0;
    await here.store.cancel(task.taskId, ALICE);
    await until(news);
    assert.deepEqual(await ready(there.dispatcher), []);
  }),
  onTwo('gives a task to one of both, however they race', async ({ here, there }) => {
    for (let round = 0; round < 50; round += 1) {
      const { task } = await here.store.create(aTask());
      const claims = await Promise.all(
        [here, there].map(({ store }, at) => store.claim([task.taskId], { workerId: `w${at}`, leaseMs: 30_000 })),
      );
      assert.equal(claims.flat().length, 1);
    }
  }),
  onTwo('shows each what the other committed, at once', async ({ here, there }) => {
    const { lease } = await createAndClaim(here.store);
    await here.store.ask(lease, 'q', QUESTION);
    assert.deepEqual(await there.store.answer(lease.taskId, ALICE, new Map([['q', YES]])), ['q']);
    assert.equal((await here.store.history(lease.taskId)).questions[0]?.answer?.action, 'accept');
    assert.equal(await there.store.cancel(lease.taskId, ALICE), 'cancelled');
    assert.equal(await here.store.finish(lease, DONE), 'lost');
  }),
  onTwo('goes on for one when the other has closed', async ({ here, there, until }) => {
    const rung: unknown[] = [];
    here.dispatcher.onBell((changed) => rung.push(changed));
    there.dispatcher.onBell(() => {});
    await there.store.create(aTask());
    await until(() => rung.length > 0);
    await there.store.close();
    const { task } = await here.store.create(aTask({ principal: ALICE }));
    assert.equal((await here.store.get(task.taskId, ALICE))?.state.status, 'working');
  }),
];
