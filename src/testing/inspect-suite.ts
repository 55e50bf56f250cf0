import assert from 'node:assert/strict';
import { newTaskId, systemRandom } from '../core/index.ts';
import type { ListOptions, TaskOverview, TaskStore } from '../store/index.ts';
import { aTask } from './builders.ts';
import { ALICE, claimOne, createAndClaim, DONE, MALLORY, type OpenStore, onStore, QUESTION, YES } from './on-store.ts';
import type { SuiteCase } from './suite.ts';

const FAILED = { status: 'failed', error: { code: -32603, message: 'boom', data: { secret: 1 } } } as const;

/** The whole list, page by page. */
async function listAll(store: TaskStore, options: ListOptions): Promise<TaskOverview[]> {
  const tasks: TaskOverview[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...options, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.tasks.length <= options.limit);
    tasks.push(...page.tasks);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tasks;
}

const idsOf = (tasks: readonly { taskId: string }[]): string[] => tasks.map(({ taskId }) => taskId);

/** What the timeline says happened, in order. */
async function story(store: TaskStore, taskId: string): Promise<string[]> {
  const entries = await store.timeline(taskId, 0, 1_000);
  for (const [n, { seq }] of entries.entries()) assert.ok(n === 0 || seq > (entries[n - 1]?.seq ?? 0), 'out of order');
  return entries.map(({ type }) => type);
}

/** What every task store promises to operators. */
export const inspectSuite: readonly SuiteCase<OpenStore>[] = [
  onStore('lists newest first, in pages that neither miss nor repeat', async ({ store, clock }) => {
    const created: { taskId: string; at: number }[] = [];
    for (let n = 0; n < 23; n += 1) {
      const { task } = await store.create(aTask());
      created.push({ taskId: task.taskId, at: task.createdAt });
      if (n % 3 === 0) clock.advance(1); // Several share a moment: the id decides.
    }
    const expected = created.sort((a, b) => b.at - a.at || (a.taskId < b.taskId ? 1 : -1));
    for (const limit of [1, 7, 23, 100]) {
      assert.deepEqual(idsOf(await listAll(store, { limit })), idsOf(expected), `pages of ${limit}`);
    }
    const last = await store.list({ limit: 23 });
    assert.equal(last.nextCursor, undefined, 'a full page that is the last one says so');
  }),
  onStore('keeps the place of a cursor, whatever is created or deleted meanwhile', async ({ store, clock }) => {
    for (let n = 0; n < 6; n += 1) {
      await store.create(aTask());
      clock.advance(1);
    }
    const all = idsOf((await store.list({ limit: 10 })).tasks);
    const first = await store.list({ limit: 3 });
    for (const taskId of idsOf(first.tasks)) assert.ok(await store.remove(taskId));
    await store.create(aTask());
    const second = await store.list({ limit: 3, cursor: first.nextCursor ?? '' });
    assert.deepEqual(idsOf(second.tasks), all.slice(3));
  }),
  onStore('refuses a cursor that it did not give', async ({ store }) => {
    for (const cursor of [
      '',
      'x',
      '∞',
      Buffer.from('[1]').toString('base64url'),
      Buffer.from('{}').toString('base64url'),
    ]) {
      await assert.rejects(store.list({ limit: 1, cursor }), (error: Error) => {
        assert.ok(error instanceof TypeError, String(error));
        assert.match(error.message, /not a cursor/);
        return true;
      });
    }
  }),
  onStore('filters by status, tool, principal, time and labels', async ({ store, clock }) => {
    const at = clock.now();
    const done = await createAndClaim(store, { name: 'a', labels: { team: 'x', tier: 1 } });
    await store.finish(done.lease, DONE);
    clock.advance(1_000);
    const failed = await createAndClaim(store, { name: 'b', labels: { team: 'x' } });
    await store.finish(failed.lease, FAILED);
    clock.advance(1_000);
    const foreign = await createAndClaim(store, { name: 'a', principal: { ...MALLORY, tenant: 't' } });
    const asking = await createAndClaim(store, { name: 'c' });
    await store.ask(asking.lease, 'q', QUESTION);
    const [d, f, m, q] = [done, failed, foreign, asking].map(({ lease }) => lease.taskId);
    const cases: [Omit<ListOptions, 'limit'>, (string | undefined)[]][] = [
      [{ status: 'completed' }, [d]],
      [{ status: ['completed', 'failed'] }, [f, d]],
      [{ status: [] }, []],
      [{ name: 'a' }, [m, d]],
      [{ principal: ALICE, name: 'a' }, [d]],
      [{ principal: { ...MALLORY, tenant: 't' } }, [m]],
      [{ principal: MALLORY }, []],
      [{ since: at + 1 }, [m, q, f]],
      [{ until: at + 1_000 }, [d]],
      [{ since: at + 1_000, until: at + 2_000 }, [f]],
      [{ labels: { team: 'x' } }, [f, d]],
      [{ labels: { team: 'x', tier: 1 } }, [d]],
      [{ labels: { team: 'y' } }, []],
      [{ status: 'input_required', name: 'c' }, [q]],
      [{ name: 'nobody' }, []],
    ];
    for (const [filter, expected] of cases) {
      for (const limit of [1, 50]) {
        const found = idsOf(await listAll(store, { ...filter, limit }));
        assert.deepEqual(found.sort(), [...expected].sort(), JSON.stringify(filter));
      }
    }
  }),
  onStore('shows a task without its payloads, in every state', async ({ store, clock }) => {
    const { task } = await store.create(aTask({ principal: ALICE, input: { token: 'hush' }, toolVersion: '7' }));
    const ready = await store.inspect(task.taskId);
    assert.equal(ready?.runState, 'ready');
    assert.equal(ready?.availableAt, clock.now());
    assert.equal(ready?.toolVersion, '7');
    assert.deepEqual(ready?.principal, ALICE);
    const { lease } = await claimOne(store, task.taskId, 'w9');
    const leased = await store.inspect(task.taskId);
    const until = clock.now() + 30_000;
    assert.deepEqual(leased?.lease, { worker: 'w9', fence: 1, since: clock.now(), until });
    await store.ask(lease, 'q', QUESTION, clock.now() + 5_000);
    clock.advance(700);
    await store.release(lease, { to: 'parked' }, 700);
    const parked = await store.inspect(task.taskId);
    assert.deepEqual([parked?.status, parked?.runState, parked?.activeMs], ['input_required', 'parked', 700]);
    assert.equal(parked?.lease, undefined);
    const asked = { key: 'q', message: 'sure?', askedAt: clock.now() - 700, deadline: clock.now() + 4_300 };
    assert.deepEqual(parked?.questions, [asked]);
    await store.answer(task.taskId, ALICE, new Map([['q', { action: 'accept', content: { pin: 'hush' } }]]));
    const again = await claimOne(store, task.taskId, 'w9');
    await store.recordStep(again.lease, { key: 's#1', name: 's', ordinal: 1, seq: 1, body: '"hush"' });
    await store.appendLog(again.lease, [{ level: 'info', text: 'hush', at: 1 }]);
    await store.finish(again.lease, { status: 'failed', error: { ...FAILED.error, data: 'hush' } });
    const over = await store.inspect(task.taskId);
    assert.deepEqual([over?.status, over?.runState, over?.endedAt], ['failed', 'done', clock.now()]);
    assert.deepEqual(over?.error, { code: -32603, message: 'boom' });
    assert.deepEqual(over?.questions, [{ ...asked, answeredAt: clock.now(), action: 'accept', by: 'alice' }]);
    assert.deepEqual([over?.steps, over && over.logBytes > 4], [1, true]);
    assert.doesNotMatch(JSON.stringify(over), /hush/);
    const given = await store.payloads(task.taskId);
    assert.deepEqual(given?.input, { token: 'hush' });
    assert.deepEqual(given?.error, { ...FAILED.error, data: 'hush' });
    assert.deepEqual(given?.steps, [{ name: 's', ordinal: 1, value: 'hush' }]);
    assert.deepEqual(given?.answers[0]?.answer, { action: 'accept', content: { pin: 'hush' } });
    assert.equal(await store.inspect('tsk_unknown'), undefined);
    assert.equal(await store.payloads('tsk_unknown'), undefined);
  }),
  onStore('tells the attempts of a task', async ({ store, clock }) => {
    const first = await createAndClaim(store, { onWorkerLost: 'rerun' });
    const startedAt = clock.now();
    clock.advance(30_001);
    const [lost] = await store.lostLeases(10);
    await store.recover(lost as never, { action: 'run_again' });
    const second = await claimOne(store, first.lease.taskId, 'w2');
    await store.finish(second.lease, FAILED);
    assert.deepEqual(await store.attempts(first.lease.taskId), [
      { fence: 1, attempt: 1, worker: 'w1', startedAt, endedAt: clock.now(), outcome: 'lost' },
      {
        fence: 2,
        attempt: 2,
        worker: 'w2',
        startedAt: clock.now(),
        endedAt: clock.now(),
        outcome: 'failed',
        error: 'boom',
      },
    ]);
    assert.deepEqual(await store.attempts('tsk_unknown'), []);
  }),
  onStore('tells everything that happened, in order, even where the clock stands still', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store, { onWorkerLost: 'rerun' });
    const { taskId } = lease;
    await store.recordStep(lease, { key: 'scan#1', name: 'scan', ordinal: 1, seq: 0, body: '"secret"' });
    await store.ask(lease, 'q', QUESTION);
    await store.report(lease, { progress: { progress: 1 } });
    await store.release(lease, { to: 'parked' }, 0);
    await store.answer(taskId, ALICE, new Map([['q', YES]]));
    const second = await claimOne(store, taskId, 'w2');
    await store.release(second.lease, { to: 'ready' }, 0);
    const third = await claimOne(store, taskId, 'w3');
    await store.release(third.lease, { to: 'retry', availableAt: clock.now() + 500, error: 'flaky' }, 0);
    clock.advance(500);
    await claimOne(store, taskId, 'w4');
    clock.advance(30_001);
    const [lost] = await store.lostLeases(10);
    await store.recover(lost as never, { action: 'run_again' });
    const fifth = await claimOne(store, taskId, 'w5');
    clock.jump(-60_000);
    await store.recordStep(fifth.lease, { key: 'scan#2', name: 'scan', ordinal: 2, seq: 2, body: null, error: '{}' });
    await store.finish(fifth.lease, FAILED);
    assert.deepEqual(await story(store, taskId), [
      'created',
      'claimed',
      'step_recorded',
      'input_requested',
      'parked',
      'input_received',
      'claimed',
      'released',
      'claimed',
      'retry_scheduled',
      'claimed',
      'worker_lost',
      'claimed',
      'step_failed',
      'failed',
    ]);
    const entries = await store.timeline(taskId, 0, 1_000);
    const body = (type: string) => entries.find((entry) => entry.type === type)?.body;
    assert.deepEqual(body('claimed'), { attempt: 1, fence: 1, worker: 'w1' });
    assert.deepEqual(body('step_recorded'), { name: 'scan', ordinal: 1 });
    assert.deepEqual(body('input_requested'), { key: 'q' });
    assert.deepEqual(body('input_received'), { keys: ['q'], by: 'alice' });
    assert.deepEqual(body('worker_lost'), { worker: 'w4', attempt: 2 });
    assert.deepEqual(body('failed'), { code: -32603 }); // What it says may be anything, and is the task's outcome.
    assert.doesNotMatch(JSON.stringify(entries), /secret/);
    const pages = [];
    for (let after = 0; ; ) {
      const page = await store.timeline(taskId, after, 4);
      if (page.length === 0) break;
      pages.push(...page);
      after = page.at(-1)?.seq ?? after;
    }
    assert.deepEqual(pages, entries);
  }),
  onStore('tells how a task ended, and by whom', async ({ store, clock }) => {
    const claimed = await store.create(aTask({ principal: ALICE }), { claim: { workerId: 'w', leaseMs: 1_000 } });
    await store.cancel(claimed.task.taskId, ALICE, 'not needed');
    assert.deepEqual(await story(store, claimed.task.taskId), ['created', 'claimed', 'cancelled']);
    const [, , cancelled] = await store.timeline(claimed.task.taskId, 0, 10);
    assert.deepEqual(cancelled?.body, { reason: 'not needed', by: 'alice' });
    const expiring = await store.create(aTask({ ttlMs: 1_000 }));
    clock.advance(1_000);
    await store.sweep(10, { status: 'failed', error: { code: -32603, message: 'too late' } }, 60_000);
    const [, expired] = await store.timeline(expiring.task.taskId, 0, 10);
    assert.deepEqual([expired?.type, expired?.body], ['expired', { code: -32603 }]);
    const done = await createAndClaim(store);
    await store.finish(done.lease, { status: 'completed', result: { content: [], isError: true } });
    assert.deepEqual((await store.timeline(done.lease.taskId, 0, 10)).at(-1)?.body, { isError: true });
  }),
  onStore('counts tasks by status and by who is to move', async ({ store }) => {
    const nothing = await store.counts();
    assert.equal(nothing.total, 0);
    assert.deepEqual(nothing.byRunState, { ready: 0, leased: 0, parked: 0, done: 0 });
    await store.create(aTask());
    await createAndClaim(store);
    const parked = await createAndClaim(store);
    await store.ask(parked.lease, 'q', QUESTION);
    await store.release(parked.lease, { to: 'parked' }, 0);
    const done = await createAndClaim(store);
    await store.finish(done.lease, DONE);
    assert.deepEqual(await store.counts(), {
      total: 4,
      byStatus: { working: 2, input_required: 1, completed: 1, failed: 0, cancelled: 0 },
      byRunState: { ready: 1, leased: 1, parked: 1, done: 1 },
    });
  }),
  onStore('says what it takes up', async ({ store }) => {
    const inUse = async (): Promise<number> => {
      const size = await store.storage();
      for (const [name, bytes] of Object.entries(size)) {
        assert.ok(Number.isSafeInteger(bytes) && bytes >= 0, `${name}: ${bytes}`);
      }
      assert.ok(size.fileBytes > 0 && size.freeBytes <= size.fileBytes && size.lagBytes <= size.walBytes);
      return size.fileBytes - size.freeBytes;
    };
    const before = await inUse();
    const { task } = await store.create(aTask({ input: 'x'.repeat(1_000_000) }));
    const during = await inUse();
    assert.ok(during >= before + 900_000, `${before} bytes in use, then ${during}`);
    await store.remove(task.taskId);
    const after = await inUse();
    assert.ok(after < during - 900_000, `${during} bytes in use, then ${after}`);
  }),
  onStore('finds ids by their beginning', async ({ store }) => {
    const ids = ['tsk_aaa1', 'tsk_aaa2', 'tsk_aab', 'tsk_b_-z'];
    for (const taskId of ids) await store.create(aTask({ taskId }));
    assert.deepEqual(await store.findIds('tsk_aa', 10), ids.slice(0, 3));
    assert.deepEqual(await store.findIds('tsk_aa', 2), ids.slice(0, 2));
    assert.deepEqual(await store.findIds('tsk_b', 2), ['tsk_b_-z']);
    assert.deepEqual(await store.findIds('tsk_b_-z', 2), ['tsk_b_-z']);
    assert.deepEqual(await store.findIds('tsk_c', 2), []);
    assert.deepEqual(await store.findIds('%', 2), []);
  }),
  onStore('requeues a finished task as a new one, and leaves the old one as it is', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store, {
      input: { n: 1 },
      prepared: { p: 2 },
      timeoutMs: 9_000,
      ttlMs: 100_000,
    });
    const as = newTaskId(systemRandom);
    assert.equal(await store.requeue(lease.taskId, as), 'still_open');
    await store.finish(lease, FAILED);
    const old = await store.get(lease.taskId, ALICE);
    clock.advance(5_000);
    assert.equal(await store.requeue(lease.taskId, as), 'requeued');
    assert.deepEqual(await store.get(lease.taskId, ALICE), old);
    const fresh = await store.get(as, ALICE);
    assert.deepEqual([fresh?.state, fresh?.attempt, fresh?.createdAt], [{ status: 'working' }, 0, clock.now()]);
    assert.equal(fresh?.expiresAt, clock.now() + 100_000);
    const again = await claimOne(store, as);
    assert.deepEqual([again.input, again.prepared, again.timeoutMs], [{ n: 1 }, { p: 2 }, 9_000]);
    assert.deepEqual(await story(store, lease.taskId), ['created', 'claimed', 'failed', 'requeued']);
    assert.deepEqual((await store.timeline(lease.taskId, 0, 10)).at(-1)?.body, { as });
    assert.deepEqual((await store.timeline(as, 0, 10))[0]?.body, { requeuedFrom: lease.taskId });
    assert.equal(await store.requeue('tsk_unknown', newTaskId(systemRandom)), undefined);
  }),
  onStore('cancels many, and only what is open and meant', async ({ store }) => {
    const done = await createAndClaim(store, { name: 'a' });
    await store.finish(done.lease, DONE);
    const open: string[] = [];
    for (let n = 0; n < 250; n += 1) open.push((await store.create(aTask({ name: 'a' }))).task.taskId);
    const other = await createAndClaim(store, { name: 'b' });
    assert.deepEqual((await store.cancelAll({ name: 'a', status: 'failed' }, 'enough', 'operator')).length, 0);
    const cancelled = await store.cancelAll({ name: 'a' }, 'enough', 'operator');
    assert.deepEqual(cancelled.sort(), open.sort());
    assert.deepEqual((await store.get(done.lease.taskId, ALICE))?.state, DONE);
    assert.equal((await store.get(other.lease.taskId, ALICE))?.state.status, 'working');
    const ids = [other.lease.taskId, done.lease.taskId, 'tsk_unknown'];
    assert.deepEqual(await store.cancelAll(ids, 'enough', 'operator'), [other.lease.taskId]);
    const last = (await store.timeline(other.lease.taskId, 0, 10)).at(-1);
    assert.deepEqual([last?.type, last?.body], ['cancelled', { reason: 'enough', by: 'operator' }]);
    assert.equal(await store.finish(other.lease, DONE), 'lost');
  }),
  onStore('removes a task with everything there is of it, and tells its worker', async ({ store }) => {
    const idempotency = { key: 'k', requestHash: 'h' };
    const created = await store.create(aTask({ principal: ALICE }), { idempotency });
    const { lease } = await claimOne(store, created.task.taskId);
    await store.recordStep(lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: '1' });
    await store.ask(lease, 'q', QUESTION);
    for (let n = 0; n < 20; n += 1) {
      await store.appendLog(
        lease,
        Array.from({ length: 50 }, () => ({ level: 'info', text: 'x'.repeat(2_000), at: 1 })),
      );
    }
    assert.equal(await store.remove(lease.taskId), true);
    assert.equal(await store.get(lease.taskId, ALICE), undefined);
    assert.equal(await store.inspect(lease.taskId), undefined);
    assert.deepEqual(await store.history(lease.taskId), { steps: [], questions: [] });
    assert.deepEqual(await store.timeline(lease.taskId, 0, 10), []);
    assert.equal(await store.readLog(lease.taskId, 0, 10), undefined);
    assert.deepEqual(await store.pulses([lease.taskId]), []);
    assert.equal(await store.finish(lease, DONE), 'lost');
    assert.equal(await store.remove(lease.taskId), false);
    const again = await store.create(aTask({ principal: ALICE }), { idempotency: { key: 'k', requestHash: 'other' } });
    assert.equal(again.outcome, 'created', 'its idempotency key is free again');
  }),
];
