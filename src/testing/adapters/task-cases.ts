import assert from 'node:assert/strict';
import { LOCAL_PRINCIPAL } from '../../core/index.ts';
import { type AdapterCase, canCancel, hasLogs, lever, takesInput, throughTasks } from './adapter-case.ts';
import { says } from './bench.ts';
import { LINES } from './forms.ts';

/** The engine with the adapter: what becomes of tasks. */
export const taskCases: readonly AdapterCase[] = [
  throughTasks('gives each of several tasks the result of its own job', [], async (on) => {
    const process = await on.process();
    const jobs = ['a', 'b', 'c', 'd'];
    const tasks = await Promise.all(jobs.map((job) => on.call(process, job)));
    for (const job of jobs.toReversed()) {
      await on.started(job);
      await on.bench.system.finish(job, `${job} is done`);
    }
    for (const [at, job] of jobs.entries()) await on.completed(process, tasks[at] ?? '', job);
  }),
  throughTasks('follows a job across a restart', [], async (on) => {
    const first = await on.process();
    const taskId = await on.call(first, 'a');
    await on.started('a');
    await first.close();
    await on.bench.system.finish('a', 'a is done');
    await on.completed(await on.process(), taskId, 'a');
  }),
  throughTasks('tells how a job failed', [lever('fail')], async (on) => {
    const process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.started('a');
    await on.bench.system.fail?.('a', 'no disk');
    const state = await on.ends(process, taskId);
    const isError = state.status === 'completed' && state.result['isError'] === true;
    assert.ok((isError || state.status === 'failed') && says(state, 'no disk'), JSON.stringify(state));
  }),
  throughTasks('is cancelled where its job was', [lever('cancel')], async (on) => {
    const process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.started('a');
    await on.bench.system.cancel?.('a');
    assert.equal((await on.ends(process, taskId)).status, 'cancelled');
  }),
  throughTasks('fails with its job when that is lost, and says what is known', [lever('vanish')], async (on) => {
    const process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.started('a');
    await on.bench.system.vanish?.('a');
    const state = await on.ends(process, taskId);
    assert.ok(state.status === 'failed', JSON.stringify(state));
    assert.match(state.error.message, /^lost: /);
    assert.ok(says(state.error.data, '"lost":true'), JSON.stringify(state));
    assert.equal(await on.bench.system.started('a'), 1, 'it was started again');
  }),
  throughTasks("has a lost job done again where its rule is onLost: 'rerun'", [lever('vanish')], async (on) => {
    const process = await on.process({ task: { onLost: 'rerun' } });
    const taskId = await on.call(process, 'a');
    await on.started('a');
    await on.bench.system.vanish?.('a');
    await on.started('a', 2);
    await on.bench.system.finish('a', 'a is done');
    const state = await on.ends(process, taskId);
    assert.ok(state.status === 'completed' && says(state, 'a is done'), JSON.stringify(state));
    assert.equal(await on.bench.system.started('a'), 2);
  }),
  throughTasks('ends its job when it is cancelled', [canCancel, lever('stopped')], async (on) => {
    const { system, time } = on.bench;
    const process = await on.process();
    const taskId = await on.call(process, 'a');
    await on.started('a');
    await time.during('cancel', () => process.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'not needed'));
    await time.until('a was told to stop', async () => (await system.stopped?.('a')) === true);
    assert.equal((await on.ends(process, taskId)).status, 'cancelled');
  }),
  throughTasks('ends its job when it is out of time', [canCancel, lever('stopped')], async (on) => {
    const { system, time } = on.bench;
    const process = await on.process({ task: { timeoutMs: time.isReal ? 2_000 : 60_000 } });
    const taskId = await on.call(process, 'a');
    await on.started('a');
    const state = await on.ends(process, taskId);
    assert.ok(state.status === 'failed' && state.error.message.includes('timed out'), JSON.stringify(state));
    await time.until('a was told to stop', async () => (await system.stopped?.('a')) === true);
  }),
  throughTasks(
    'ends its job also when it is cancelled while nobody looks after it',
    [canCancel, lever('stopped')],
    async (on) => {
      const { system, time } = on.bench;
      const first = await on.process();
      const taskId = await on.call(first, 'a');
      await on.started('a');
      await first.close();
      const bystander = await on.bystander();
      await time.during('cancel', () => bystander.engine.cancel(taskId, LOCAL_PRINCIPAL));
      assert.equal(await system.stopped?.('a'), false);
      await on.process();
      await time.until('a was told to stop', async () => (await system.stopped?.('a')) === true);
    },
  ),
  throughTasks(
    'has every line of its job in its own log once, in order, across a restart',
    [hasLogs, lever('log')],
    async (on) => {
      const { system, time } = on.bench;
      const first = await on.process();
      const taskId = await on.call(first, 'a');
      await on.started('a');
      await system.log?.('a', LINES.slice(0, 4));
      const own = async (tasks: typeof first) => (await on.log(tasks, taskId)).filter((line) => LINES.includes(line));
      const { logs } = await on.caps();
      if (logs === 'live')
        await time.until('the lines are there while it runs', async () => (await own(first)).length >= 4);
      await first.close();
      await system.log?.('a', LINES.slice(4));
      const second = await on.process();
      await on.completes(second, taskId, 'a');
      assert.deepEqual(await own(second), LINES);
    },
  ),
  throughTasks(
    'asks what its job asks, and hands the answer over, across a restart',
    [takesInput, lever('ask', 'answers')],
    async (on) => {
      const first = await on.process();
      const taskId = await on.call(first, 'a');
      await on.started('a');
      await on.asks(first, taskId, 'a');
      await first.close();
      const second = await on.process();
      await on.answers(second, taskId);
      await on.answered('a');
      await on.completes(second, taskId, 'a');
      await on.answered('a');
    },
  ),
];
