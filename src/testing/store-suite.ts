import assert from 'node:assert/strict';
import { IdempotencyConflictError, LimitExceededError, TaskIdTakenError, TaskNotFoundError } from '../core/index.ts';
import type { Dispatcher, Lease, TaskStore } from '../store/index.ts';
import { aTask } from './builders.ts';
import { inspectSuite } from './inspect-suite.ts';
import { logSuite } from './log-suite.ts';
import {
  ALICE,
  claimOne,
  createAndClaim,
  DONE,
  EXPIRED,
  LATE,
  MALLORY,
  type OpenStore,
  onStore,
  QUESTION,
  YES,
} from './on-store.ts';
import type { SuiteCase } from './suite.ts';

const take = (dispatcher: Dispatcher, limit = 10) => dispatcher.take({ limit, names: ['transcode'] });
const ready = async (dispatcher: Dispatcher): Promise<string[]> =>
  (await take(dispatcher)).tasks.map(({ taskId }) => taskId);

const statusOf = async (store: TaskStore, lease: Lease, principal = ALICE): Promise<string | undefined> =>
  (await store.get(lease.taskId, principal))?.state.status;

/** What every task store promises, whatever keeps the tasks. Each case opens a store of its own. */
export const storeSuite: readonly SuiteCase<OpenStore>[] = [
  onStore('finds a task from the moment create resolved', async ({ store, clock }) => {
    const { task, outcome } = await store.create(aTask({ principal: ALICE, ttlMs: 5_000 }));
    assert.equal(outcome, 'created');
    const found = await store.get(task.taskId, ALICE);
    assert.deepEqual(found, task);
    assert.equal(found?.createdAt, clock.now());
    assert.equal(found?.expiresAt, clock.now() + 5_000);
    assert.deepEqual(found?.state, { status: 'working' });
  }),
  onStore(
    'makes no task of a repeat that is so late that the first may have come and gone',
    async ({ store, clock }) => {
      const idempotency = { key: 'k', requestHash: 'h' };
      const task = aTask({ principal: ALICE, ttlMs: 5_000 });
      const late = { idempotency: { ...idempotency, repeatAgeMs: 5_000 } };
      await assert.rejects(store.create(task, late), TaskNotFoundError);
      const early = await store.create(task, { idempotency: { ...idempotency, repeatAgeMs: 4_999 } });
      assert.equal(early.outcome, 'created');
      const again = await store.create(aTask({ principal: ALICE, ttlMs: 5_000 }), late);
      assert.equal(again.outcome, 'existing'); // It is there: however late, nothing runs twice.
      const forever = { idempotency: { key: 'other', requestHash: 'h', repeatAgeMs: clock.now() } };
      assert.equal((await store.create(aTask({ principal: ALICE, ttlMs: null }), forever)).outcome, 'created');
    },
  ),
  onStore('closes a question that was withdrawn, and no answer counts after that', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    await store.ask(lease, 'q', QUESTION);
    assert.equal(await store.withdrawQuestion(lease, 'q'), 'applied');
    assert.equal(await statusOf(store, lease), 'working');
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['q', YES]])), []);
    const { questions } = await store.history(lease.taskId);
    assert.deepEqual(
      questions.map(({ answer }) => answer),
      [{ action: 'expired' }],
    );
    assert.equal(await store.withdrawQuestion({ ...lease, fence: lease.fence - 1 }, 'q'), 'lost');
  }),
  onStore('hands the trace of a request to whoever works on its task', async ({ store }) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const { task } = await store.create(aTask({ principal: ALICE, traceparent }));
    assert.equal((await claimOne(store, task.taskId)).traceparent, traceparent);
    const claim = { workerId: 'w1', leaseMs: 30_000 };
    const taken = await store.create(aTask({ principal: ALICE, traceparent }), { claim });
    assert.equal(taken.claimed?.traceparent, traceparent);
  }),
  onStore('hides a task from everybody but its principal', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    await store.ask(lease, 'q', QUESTION);
    const { taskId } = lease;
    for (const stranger of [MALLORY, { tenant: 'other', subject: 'alice' }]) {
      assert.equal(await store.get(taskId, stranger), undefined);
      assert.equal(await store.cancel(taskId, stranger), undefined);
      assert.equal(await store.openQuestions(taskId, stranger), undefined);
      assert.equal(await store.answer(taskId, stranger, new Map([['q', YES]])), undefined);
    }
    assert.equal(await store.get('tsk_none', ALICE), undefined);
    assert.equal(await statusOf(store, lease), 'input_required');
  }),
  onStore("finds a task by its requestor's own id, for that principal alone", async ({ store }) => {
    const mine = await store.create(aTask({ principal: ALICE, requestorTaskId: 'build-1' }));
    const theirs = await store.create(aTask({ principal: MALLORY, requestorTaskId: 'build-1' }));
    assert.equal(mine.task.requestorTaskId, 'build-1');
    assert.equal(await store.findByRequestorId('build-1', ALICE), mine.task.taskId);
    assert.equal(await store.findByRequestorId('build-1', MALLORY), theirs.task.taskId);
    assert.equal(await store.findByRequestorId('build-1', { tenant: 'other', subject: 'alice' }), undefined);
    assert.equal(await store.findByRequestorId('build-2', ALICE), undefined);
  }),
  onStore("refuses a requestor's id that a task of the same principal has", async ({ store }) => {
    const { task } = await store.create(aTask({ principal: ALICE, requestorTaskId: 'build-1' }));
    await assert.rejects(store.create(aTask({ principal: ALICE, requestorTaskId: 'build-1' })), TaskIdTakenError);
    assert.equal(await store.findByRequestorId('build-1', ALICE), task.taskId);
    await store.cancel(task.taskId, ALICE);
    await assert.rejects(store.create(aTask({ principal: ALICE, requestorTaskId: 'build-1' })), TaskIdTakenError);
    await store.remove(task.taskId);
    await store.create(aTask({ principal: ALICE, requestorTaskId: 'build-1' }));
  }),
  onStore(
    'keeps a task from its end on, where that is asked for, and never promises less than before',
    async (opened) => {
      const { store, clock } = opened;
      const created = clock.now();
      const kept = { keepResultMs: 60_000, keepFromEnd: true };
      const lease = await createAndClaim(opened.store, { principal: ALICE, ttlMs: 86_400_000, ...kept });
      assert.equal((await store.get(lease.lease.taskId, ALICE))?.ttlMs, 60_000);
      await clock.advance(1_000);
      await store.report(lease.lease, { statusMessage: 'half' });
      assert.equal((await store.get(lease.lease.taskId, ALICE))?.ttlMs, 61_000);
      await clock.advance(4_000);
      await store.finish(lease.lease, DONE);
      const ended = await store.get(lease.lease.taskId, ALICE);
      assert.equal(ended?.ttlMs, 65_000);
      assert.equal(ended?.expiresAt, created + 65_000);
      await clock.advance(60_000);
      assert.equal(await store.get(lease.lease.taskId, ALICE), undefined);
    },
  ),
  onStore('says whether anybody has ever worked on a task', async ({ store }) => {
    const { task } = await store.create(aTask({ principal: ALICE }));
    assert.equal(task.started, false);
    const { lease } = await claimOne(store, task.taskId);
    assert.equal((await store.get(task.taskId, ALICE))?.started, true);
    await store.release(lease, { to: 'ready' }, 0);
    assert.equal((await store.get(task.taskId, ALICE))?.started, true);
  }),
  onStore('tells work apart that has one name under two methods', async ({ store, dispatcher }) => {
    const prompt = await store.create(aTask({ method: 'prompts/get' }));
    const tool = await store.create(aTask());
    assert.deepEqual(await ready(dispatcher), [tool.task.taskId]);
    const { tasks } = await dispatcher.take({ limit: 10, names: ['prompts/get transcode'] });
    assert.deepEqual(
      tasks.map(({ taskId }) => taskId),
      [prompt.task.taskId],
    );
    assert.equal((await store.get(prompt.task.taskId, prompt.task.principal))?.name, 'transcode');
  }),
  onStore('gives a task to one worker at a time', async ({ store, dispatcher }) => {
    const { task } = await store.create(aTask());
    assert.deepEqual(await ready(dispatcher), [task.taskId]);
    const [first, second] = await Promise.all([
      store.claim([task.taskId], { workerId: 'w1', leaseMs: 1_000 }),
      store.claim([task.taskId], { workerId: 'w2', leaseMs: 1_000 }),
    ]);
    assert.equal(first.length + second.length, 1);
    assert.deepEqual(await ready(dispatcher), []);
  }),
  onStore('claims in the commit that creates', async ({ store, dispatcher }) => {
    const created = await store.create(aTask(), { claim: { workerId: 'w1', leaseMs: 1_000 } });
    assert.equal(created.claimed?.lease.fence, 1);
    assert.equal(created.claimed?.lease.attempt, 1);
    assert.deepEqual(await ready(dispatcher), []);
    assert.equal(await store.finish(created.claimed?.lease as Lease, DONE), 'applied');
  }),
  onStore('hands a handler its arguments as they came', async ({ store }) => {
    const input = { text: 'NUL \u0000, lone surrogate-free \u{1f600}', deep: [1, { big: 9007199254740991 }] };
    const claimed = await createAndClaim(store, { input, prepared: { user: 'x' }, timeoutMs: 5_000 });
    assert.deepEqual(claimed.input, input);
    assert.deepEqual(claimed.prepared, { user: 'x' });
    assert.equal(claimed.timeoutMs, 5_000);
  }),
  onStore('gives an abandoned task to the next worker and fences off the first', async ({ store, clock }) => {
    const first = await createAndClaim(store, { onWorkerLost: 'rerun' });
    clock.advance(30_001);
    const [lost] = await store.lostLeases(10);
    assert.equal(lost?.taskId, first.lease.taskId);
    assert.equal(await store.recover(lost as never, { action: 'run_again' }), 'applied');
    assert.equal(await store.recover(lost as never, { action: 'run_again' }), 'lost', 'recovered twice');
    const second = await claimOne(store, first.lease.taskId, 'w2');
    assert.equal(second.lease.attempt, 2);
    assert.ok(second.lease.fence > first.lease.fence);
    assert.equal(await store.finish(first.lease, LATE), 'lost');
    assert.equal(await store.recordStep(first.lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: '1' }), 'lost');
    assert.equal(await store.ask(first.lease, 'q', QUESTION), 'lost');
    assert.equal(await store.report(first.lease, { progress: { progress: 1 } }), 'lost');
    assert.equal(await store.appendLog(first.lease, [{ level: 'info', text: 'x', at: 1 }]), 'lost');
    assert.equal(await store.release(first.lease, { to: 'parked' }, 0), 'lost');
    assert.deepEqual(await store.renew([first.lease], 1_000), [first.lease.taskId]);
    assert.equal(await store.finish(second.lease, DONE), 'applied');
    assert.deepEqual((await store.get(first.lease.taskId, ALICE))?.state, DONE);
  }),
  onStore('keeps a renewed lease', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store);
    clock.advance(29_000);
    assert.deepEqual(await store.renew([lease], 30_000), []);
    clock.advance(29_000);
    assert.deepEqual(await store.lostLeases(10), []);
    assert.equal(await store.finish(lease, DONE), 'applied');
  }),
  onStore('never changes how a task ended', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store);
    assert.equal(await store.finish(lease, DONE), 'applied');
    const ended = await store.get(lease.taskId, ALICE);
    clock.advance(1_000);
    assert.equal(await store.finish(lease, LATE), 'lost');
    assert.equal(await store.cancel(lease.taskId, ALICE), 'already_terminal');
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['q', YES]])), []);
    assert.deepEqual(await store.get(lease.taskId, ALICE), ended);
  }),
  onStore('lets one of a racing cancel and completion win, whole', async ({ store }) => {
    for (let round = 0; round < 50; round += 1) {
      const { lease } = await createAndClaim(store);
      const race = [() => store.finish(lease, DONE), () => store.cancel(lease.taskId, ALICE, 'stop')];
      if (round % 2 === 1) race.reverse();
      const results = new Set(await Promise.all(race.map((start) => start())));
      const status = await statusOf(store, lease);
      assert.ok(status === 'completed' ? results.has('already_terminal') : results.has('lost'), `both won: ${status}`);
    }
  }),
  onStore('ends a cancelled task at once, whoever works on it', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    assert.equal(await store.cancel(lease.taskId, ALICE, 'not needed'), 'cancelled');
    assert.deepEqual((await store.get(lease.taskId, ALICE))?.state, { status: 'cancelled', reason: 'not needed' });
    assert.equal(await store.finish(lease, LATE), 'lost');
    assert.equal((await store.pulses([lease.taskId]))[0]?.status, 'cancelled');
  }),
  onStore('waits, and waits no more, without a question that is recorded', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    assert.equal(await store.report(lease, { waiting: true, statusMessage: 'for the lights' }), 'applied');
    const waiting = await store.get(lease.taskId, ALICE);
    assert.equal(waiting?.state.status === 'input_required' && Object.keys(waiting.state.inputRequests).length, 0);
    assert.equal(waiting?.statusMessage, 'for the lights');
    assert.equal(await store.report(lease, { waiting: true }), 'applied');
    assert.equal(await store.report(lease, { waiting: false }), 'applied');
    assert.equal(await statusOf(store, lease), 'working');
    await store.ask(lease, 'q', QUESTION);
    assert.equal(await store.report(lease, { waiting: false }), 'applied');
    assert.equal(await statusOf(store, lease), 'input_required', 'a question is open');
    assert.equal(await store.finish(lease, DONE), 'applied');
    assert.equal(await store.report(lease, { waiting: true }), 'lost');
    assert.deepEqual((await store.get(lease.taskId, ALICE))?.state, DONE);
    const types = (await store.timeline(lease.taskId, 0, 10)).map(({ type }) => type);
    assert.deepEqual(types.slice(-4), ['input_requested', 'input_received', 'input_requested', 'completed']);
  }),
  onStore('records a step once and in order', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    for (const ordinal of [1, 2]) {
      const step = { key: `s#${ordinal}`, name: 's', ordinal, seq: ordinal, body: String(ordinal) };
      assert.equal(await store.recordStep(lease, step), 'applied');
    }
    assert.equal(
      await store.recordStep(lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: '"other"' }),
      'refused',
    );
    const { steps } = await store.history(lease.taskId);
    assert.deepEqual(steps, [
      { key: 's#1', name: 's', body: '1' },
      { key: 's#2', name: 's', body: '2' },
    ]);
  }),
  onStore('records how far something is in the place of what was recorded before', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    const far = (body: string) => ({ key: 'far#1', name: 'far', ordinal: 1, seq: 0, body, replaces: true });
    for (const body of ['1', '2']) assert.equal(await store.recordStep(lease, far(body)), 'applied');
    await store.recordStep(lease, { key: 's#1', name: 's', ordinal: 1, seq: 1, body: '1' });
    assert.equal(await store.recordStep(lease, far('3')), 'applied');
    assert.deepEqual((await store.history(lease.taskId)).steps, [
      { key: 'far#1', name: 'far', body: '3' },
      { key: 's#1', name: 's', body: '1' },
    ]);
    await store.release(lease, { to: 'ready' }, 0);
    const [again] = await store.claim([lease.taskId], { workerId: 'w2', leaseMs: 30_000 });
    assert.equal(await store.recordStep(lease, far('4')), 'lost');
    assert.equal(await store.recordStep(again?.lease ?? lease, far('5')), 'applied');
    assert.equal((await store.history(lease.taskId)).steps[0]?.body, '5');
  }),
  onStore('waits for every answer, and takes each once', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    await store.ask(lease, 'a', QUESTION);
    await store.ask(lease, 'b', QUESTION);
    await store.ask(lease, 'a', { ...QUESTION, message: 'another under the same key' });
    const waiting = await store.get(lease.taskId, ALICE);
    assert.ok(waiting?.state.status === 'input_required');
    assert.deepEqual({ ...waiting.state.inputRequests }, { a: QUESTION, b: QUESTION });
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['a', YES]])), ['a']);
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['a', { action: 'decline' }]])), []);
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['never asked', YES]])), []);
    assert.equal(await statusOf(store, lease), 'input_required');
    assert.deepEqual(
      (await store.openQuestions(lease.taskId, ALICE))?.map(({ key }) => key),
      ['b'],
    );
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['b', { action: 'decline' }]])), ['b']);
    assert.equal(await statusOf(store, lease), 'working');
    const { questions } = await store.history(lease.taskId);
    assert.deepEqual(
      questions.map(({ key, answer }) => [key, answer?.action]),
      [
        ['a', 'accept'],
        ['b', 'decline'],
      ],
    );
  }),
  onStore('parks without spending an attempt, and wakes on the answer', async ({ store, dispatcher, clock }) => {
    const { lease } = await createAndClaim(store);
    await store.ask(lease, 'q', QUESTION);
    assert.equal(await store.release(lease, { to: 'parked' }, 0), 'applied');
    assert.deepEqual(await ready(dispatcher), []);
    clock.advance(40 * 60_000);
    assert.deepEqual(await store.lostLeases(10), [], 'a parked task has no worker to lose');
    assert.deepEqual(await store.answer(lease.taskId, ALICE, new Map([['q', YES]])), ['q']);
    assert.deepEqual(await ready(dispatcher), [lease.taskId]);
    const again = await claimOne(store, lease.taskId, 'w2');
    assert.equal(again.lease.attempt, 1);
    assert.ok(again.lease.fence > lease.fence);
  }),
  onStore('does not park on a question that has been answered meanwhile', async ({ store, dispatcher }) => {
    const { lease } = await createAndClaim(store);
    await store.ask(lease, 'q', QUESTION);
    await store.answer(lease.taskId, ALICE, new Map([['q', YES]]));
    assert.equal(await store.release(lease, { to: 'parked' }, 0), 'applied');
    assert.deepEqual(await ready(dispatcher), [lease.taskId]);
  }),
  onStore('does not park over an answer, though other questions are open or a time to wake is set', async (bench) => {
    const { store, dispatcher, clock } = bench;
    const { lease } = await createAndClaim(store);
    const { taskId } = lease;
    for (const key of ['a', 'b']) await store.ask(lease, key, QUESTION);
    await store.answer(taskId, ALICE, new Map([['a', YES]]));
    const wakeAt = clock.now() + 60_000;
    await store.release(lease, { to: 'parked', wakeAt, questions: ['a', 'b'] }, 0);
    assert.deepEqual(await ready(dispatcher), [taskId]);
    const again = await claimOne(store, taskId);
    await store.release(again.lease, { to: 'parked', questions: ['b'] }, 0);
    assert.deepEqual(await ready(dispatcher), [], 'the answer to a is known to the handler');
  }),
  onStore('makes a released task ready at its time, attempt given back', async ({ store, dispatcher, clock }) => {
    const { lease } = await createAndClaim(store);
    const availableAt = clock.now() + 5_000;
    assert.equal(await store.release(lease, { to: 'ready', availableAt }, 0), 'applied');
    assert.deepEqual(await ready(dispatcher), []);
    assert.equal((await take(dispatcher)).nextAt, availableAt);
    assert.deepEqual(await store.claim([lease.taskId], { workerId: 'w', leaseMs: 1 }), []);
    clock.advance(5_000);
    assert.equal((await claimOne(store, lease.taskId)).lease.attempt, 1);
  }),
  onStore('counts active time only', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store, { timeoutMs: 60_000 });
    await store.ask(lease, 'q', QUESTION);
    clock.advance(20_000);
    await store.release(lease, { to: 'parked' }, 7_000);
    clock.advance(50 * 60_000);
    await store.answer(lease.taskId, ALICE, new Map([['q', YES]]));
    const again = await claimOne(store, lease.taskId);
    assert.equal(again.activeMs, 7_000);
    clock.advance(30_001);
    const [lost] = await store.lostLeases(1);
    assert.ok(lost);
    await store.recover(lost, { action: 'run_again' });
    const third = await claimOne(store, lease.taskId);
    assert.equal(third.activeMs, 37_000, 'a lost worker counts until its lease ended');
  }),
  onStore('tells a lost lease with records from one without', async ({ store, clock }) => {
    const bare = await createAndClaim(store);
    const stepped = await createAndClaim(store);
    const asking = await createAndClaim(store);
    await store.recordStep(stepped.lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: null });
    await store.ask(asking.lease, 'q', QUESTION);
    clock.advance(30_001);
    const lost = new Map((await store.lostLeases(10)).map((entry) => [entry.taskId, entry.hasRecords]));
    assert.deepEqual(
      [bare, stepped, asking].map(({ lease }) => lost.get(lease.taskId)),
      [false, true, true],
    );
  }),
  onStore('recovers nothing on what was true a moment ago', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store);
    clock.advance(30_001);
    const [seen] = await store.lostLeases(1);
    assert.ok(seen);
    await store.recordStep(lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: null }); // Late, but still its own.
    const outcome = { status: 'failed', error: { code: -32603, message: 'interrupted' } } as const;
    assert.equal(await store.recover(seen, { action: 'fail', outcome }), 'lost');
    assert.equal(await statusOf(store, lease), 'working');
    const [now] = await store.lostLeases(1);
    assert.equal(now?.hasRecords, true);
    assert.equal(await store.recover(now as never, { action: 'run_again' }), 'applied');
  }),
  onStore(
    'moves updatedAt forward with every visible change, even when the clock steps back',
    async ({ store, clock }) => {
      const { lease } = await createAndClaim(store);
      const seen: number[] = [];
      for (const progress of [1, 2, 3]) {
        clock.jump(-1_000);
        await store.report(lease, { progress: { progress } });
        const task = await store.get(lease.taskId, ALICE);
        assert.equal(task?.progress?.progress, progress);
        seen.push(task?.updatedAt ?? 0);
      }
      assert.ok((seen[0] as number) < (seen[1] as number) && (seen[1] as number) < (seen[2] as number), String(seen));
    },
  ),
  onStore('keeps the log in order', async ({ store }) => {
    const { lease } = await createAndClaim(store);
    await store.appendLog(lease, [
      { level: 'info', text: 'one', at: 1 },
      { level: 'error', text: 'two', at: 2 },
    ]);
    await store.appendLog(lease, [{ level: 'info', text: 'three', at: 3 }]);
    const read = await store.readLog(lease.taskId, 0, 1_000);
    assert.deepEqual(
      read?.lines.map(({ text }) => text),
      ['one', 'two', 'three'],
    );
  }),
  onStore(
    'aborts an open task at its TTL, keeps it readable for the grace, then forgets it',
    async ({ store, clock }) => {
      const { lease } = await createAndClaim(store, { ttlMs: 10_000 });
      clock.advance(9_999);
      assert.deepEqual(await store.sweep(10, EXPIRED, 60_000), { expired: [], deleted: 0 });
      clock.advance(1);
      assert.deepEqual(await store.sweep(10, EXPIRED, 60_000), { expired: [lease.taskId], deleted: 0 });
      assert.equal(await store.finish(lease, LATE), 'lost');
      clock.advance(59_999);
      assert.deepEqual((await store.get(lease.taskId, ALICE))?.state, EXPIRED);
      assert.equal((await store.get(lease.taskId, ALICE))?.ttlMs, 10_000, 'its life is not prolonged by its end');
      clock.advance(1);
      assert.equal(await store.get(lease.taskId, ALICE), undefined, 'gone on time, swept or not');
      assert.deepEqual(await store.sweep(10, EXPIRED, 60_000), { expired: [], deleted: 1 });
    },
  ),
  onStore('lets a result live its time: the TTL grows, and never shrinks', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store, { ttlMs: 10_000, keepResultMs: 60_000 });
    clock.advance(9_000);
    await store.finish(lease, DONE);
    assert.equal((await store.get(lease.taskId, ALICE))?.ttlMs, 69_000);
    clock.advance(59_999);
    assert.deepEqual((await store.get(lease.taskId, ALICE))?.state, DONE);
    clock.advance(1);
    assert.equal(await store.get(lease.taskId, ALICE), undefined);
    const long = await createAndClaim(store, { ttlMs: 1_000_000, keepResultMs: 1 });
    await store.finish(long.lease, DONE);
    assert.equal((await store.get(long.lease.taskId, ALICE))?.ttlMs, 1_000_000);
  }),
  onStore('keeps a task without TTL', async ({ store, clock }) => {
    const { lease } = await createAndClaim(store, { ttlMs: null });
    await store.finish(lease, DONE);
    clock.advance(400 * 24 * 3_600_000);
    assert.deepEqual(await store.sweep(10, EXPIRED, 60_000), { expired: [], deleted: 0 });
    assert.equal((await store.get(lease.taskId, ALICE))?.ttlMs, null);
  }),
  onStore('answers a repeated create with the same task', async ({ store, clock }) => {
    const idempotency = { key: 'k', requestHash: 'h' };
    const first = await store.create(aTask({ principal: ALICE, ttlMs: 10_000 }), { idempotency });
    const again = await store.create(aTask({ principal: ALICE }), { idempotency });
    assert.equal(again.outcome, 'existing');
    assert.equal(again.task.taskId, first.task.taskId);
    const other = { key: 'k', requestHash: 'other' };
    await assert.rejects(store.create(aTask({ principal: ALICE }), { idempotency: other }), IdempotencyConflictError);
    const foreign = await store.create(aTask({ principal: MALLORY }), { idempotency: other });
    assert.equal(foreign.outcome, 'created', 'keys are scoped to the principal');
    clock.advance(10_000);
    assert.equal((await store.create(aTask({ principal: ALICE }), { idempotency: other })).outcome, 'created');
  }),
  onStore('refuses a principal more open tasks than allowed, and nobody else', async ({ store }) => {
    const limit = { maxOpenTasks: 2 };
    const first = await store.create(aTask({ principal: ALICE }), limit);
    await store.create(aTask({ principal: ALICE }), limit);
    const refused = aTask({ principal: ALICE });
    await assert.rejects(store.create(refused, limit), LimitExceededError);
    assert.equal(await store.get(refused.taskId, ALICE), undefined);
    await store.create(aTask({ principal: MALLORY }), limit);
    await store.cancel(first.task.taskId, ALICE);
    await store.create(refused, limit);
  }),
  ...inspectSuite,
  ...logSuite,
];
