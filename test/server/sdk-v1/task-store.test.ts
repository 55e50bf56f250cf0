import { AsyncResource } from 'node:async_hooks';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULTS } from '../../../src/core/index.ts';
import { text } from '../../../src/engine/index.ts';
import { type DurableTaskStoreOptions, durableTaskStore, ownTasks } from '../../../src/server/sdk-v1/index.ts';
import { deferred, pass, recordingLogger, settle, someTasks } from '../../support/engine.ts';
import { authOf, inRequest, type RequestOptions, subjectOf } from './requests.ts';

const REQUEST = { method: 'tools/call', params: { name: 'build', arguments: { target: 'app' } } };
const ALICE: RequestOptions = { auth: authOf('alice'), sessionId: 's1' };
const BOB: RequestOptions = { auth: authOf('bob'), sessionId: 's1' };

function aStore(options: DurableTaskStoreOptions = {}, settings: Parameters<typeof someTasks>[0] = {}) {
  const { logger, lines } = recordingLogger();
  const { tasks, clock } = someTasks({ logger, ...settings });
  onTestFinished(() => tasks.close());
  const store = durableTaskStore(tasks, options);
  const created = (as: RequestOptions = ALICE, params: object = {}) =>
    inRequest(() => store.createTask(params, 7, REQUEST, as.sessionId), as);
  const warnings = () => lines.filter(({ level }) => level === 'warn' || level === 'error');
  return { store, tasks, clock, created, lines, warnings };
}

describe('whose a task of registerToolTask is', () => {
  it.each([
    ['the token, by issuer and subject', { auth: authOf('alice'), http: true }, subjectOf('alice')],
    ['the local principal, on stdio', {}, 'local'],
    ['nobody in particular, over HTTP without a token', { http: true }, 'anonymous'],
    ['nobody in particular, in a session without a token', { sessionId: 's1' }, 'anonymous'],
    ['whom the server says', { http: true, principal: () => ({ subject: 'us' }) }, 'us'],
  ])('is %s', async (_what, options: RequestOptions, subject) => {
    const { tasks, created } = aStore();
    const { taskId } = await created(options);
    expect((await tasks.inspect.get(taskId)).principal.subject).toBe(subject);
  });

  it('[G2-S-56] [G2-S-57] [C-058] is as unknown to others, also in the same session', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    await inRequest(() => store.storeTaskResult(taskId, 'completed', text('secret') as never), ALICE);
    const open = await created(ALICE);
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tools/call']) {
      const asBob = { ...BOB, method };
      expect(await inRequest(() => store.getTask(taskId, 's1'), asBob)).toBeNull();
      const denied: (() => Promise<unknown>)[] = [
        () => store.getTaskResult(taskId, 's1'),
        () => store.updateTaskStatus(open.taskId, 'cancelled', 'ha', 's1'),
      ];
      for (const attempt of denied) {
        const theirs = (await inRequest(attempt, asBob).catch((error) => error)) as { code: number; message: string };
        const nobodys = await inRequest(() => store.getTaskResult('tsk_none', 's1'), asBob).catch((error) => error);
        expect([theirs.code, theirs.message]).toEqual([nobodys.code, nobodys.message]);
        expect(theirs.code).toBe(-32602);
      }
    }
    expect(await inRequest(() => store.getTask(open.taskId), ALICE)).toMatchObject({ status: 'working' });
  });

  it('[G2-S-58] is found by its owner in another session, and in no session', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    for (const as of [{ ...ALICE, sessionId: 's2' }, { auth: authOf('alice') }]) {
      expect(await inRequest(() => store.getTask(taskId), as)).toMatchObject({ taskId });
      expect(await inRequest(() => store.listTasks(), as)).toMatchObject({ tasks: [{ taskId }] });
    }
    expect(await inRequest(() => store.listTasks(), BOB)).toEqual({ tasks: [] });
  });

  it('gives cursors that open for their owner alone and name nothing', async () => {
    const { store, created } = aStore();
    for (let n = 0; n < 51; n += 1) await created(ALICE);
    const { nextCursor } = await inRequest(() => store.listTasks(), ALICE);
    expect(nextCursor).not.toContain('tsk_');
    expect((await inRequest(() => store.listTasks(nextCursor), ALICE)).tasks).toHaveLength(1);
    await expect(inRequest(() => store.listTasks(nextCursor), BOB)).rejects.toMatchObject({ code: -32602 });
  });

  it('lists nothing to callers that nobody knows, who keep what they have the id of', async () => {
    const { store, created } = aStore();
    const { taskId, ttl } = await created({ http: true });
    expect(ttl).toBe(DEFAULTS.anonymousTtlMs);
    await expect(inRequest(() => store.listTasks(), { http: true })).rejects.toThrow('are not listed');
    expect(await inRequest(() => store.getTask(taskId), { http: true })).toMatchObject({ taskId });
  });

  it('is refused to tokens that do not say whose they are, which the client is told', async () => {
    const { created } = aStore();
    const auth = { token: 't', clientId: 'c', scopes: [] };
    await expect(created({ auth, http: true })).rejects.toThrow('names no issuer and subject');
  });

  it('is refused to servers that do not say whose requests they serve', async () => {
    const { store } = aStore();
    await expect(store.createTask({}, 1, REQUEST)).rejects.toThrow('call ownTasks(server) before server.connect(…)');
    await expect(store.listTasks()).rejects.toThrow('ownTasks');
    await expect(store.getTaskResult('tsk_any')).rejects.toThrow('ownTasks');
  });
});

describe('work in the background', () => {
  it('may go on in the context of another request, once that was answered, or in none', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    const answered = deferred();
    const later = deferred<string | undefined>();
    // A queue that starts Alice's job where Bob's ended.
    await inRequest(async () => {
      void answered.promise
        .then(() => store.getTask(taskId, 's1'))
        .then((task) => store.updateTaskStatus(taskId, 'working', 'queued').then(() => task?.status))
        .then(later.resolve, later.reject);
      expect(await store.getTask(taskId, 's1'), 'Bob still waits').toBeNull();
    }, BOB);
    answered.resolve();
    expect(await later.promise).toBe('working');
    expect(await store.getTask(taskId)).toMatchObject({ statusMessage: 'queued' });
    await store.storeTaskResult(taskId, 'completed', text('done') as never);
    expect(await inRequest(() => store.getTaskResult(taskId), ALICE)).toEqual(text('done'));
  });

  it('is not taken for such by an answer to another request of the same id', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    const transport: Transport = { start: async () => {}, send: async () => {}, close: async () => {} };
    const handled: (() => Promise<unknown>)[] = [];
    const server = ownTasks({
      async connect(to: Transport) {
        to.onmessage = () => void handled.push(AsyncResource.bind(() => store.getTask(taskId)));
        await to.start();
      },
    });
    await server.connect(transport);
    const extra = { authInfo: authOf('bob') };
    const request = () => transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'tools/call' }, extra);
    const answer = () => transport.send({ jsonrpc: '2.0', id: 1, result: {} });
    request();
    request();
    await answer();
    request();
    await answer();
    expect(await Promise.all(handled.map((look) => look()))).toEqual([null, null, null]);
  });

  it('ends its task also while somebody else is served', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    await inRequest(() => store.storeTaskResult(taskId, 'completed', text('done') as never), BOB);
    expect(await inRequest(() => store.getTask(taskId), ALICE)).toMatchObject({ status: 'completed' });
  });

  it('[G2-S-44] [G2-S-46] [C-018] [C-022] learns of a cancel by its signal, and what it brings late is dropped without an error', async () => {
    const { store, created, warnings } = aStore();
    const { taskId } = await created(ALICE);
    const signal = store.signalOf(taskId);
    expect(signal.aborted).toBe(false);
    const cancel = () => store.updateTaskStatus(taskId, 'cancelled', 'Client cancelled task execution.', 's1');
    await inRequest(cancel, { ...ALICE, method: 'tasks/cancel' });
    await settle();
    expect(signal.aborted).toBe(true);
    await store.storeTaskResult(taskId, 'completed', text('late') as never);
    await store.updateTaskStatus(taskId, 'working', 'late');
    await store.updateTaskStatus(taskId, 'failed', 'late');
    expect(await store.getTask(taskId)).toMatchObject({
      status: 'cancelled',
      statusMessage: 'Client cancelled task execution.',
    });
    expect(warnings()).toEqual([]);
  });

  it('answers for what is cancelled, expired or failed without a result by an error that says so', async () => {
    const { store, created, clock } = aStore();
    const resultOf = (taskId: string) => inRequest(() => store.getTaskResult(taskId), ALICE).catch((error) => error);
    const cancelled = await created(ALICE);
    await store.updateTaskStatus(cancelled.taskId, 'cancelled');
    const { code, message, data } = await resultOf(cancelled.taskId);
    expect({ code, message, data }).toEqual({
      code: -32603,
      message: 'Task was cancelled',
      data: { taskId: cancelled.taskId, status: 'cancelled' },
    });
    const failed = await created(ALICE);
    await store.updateTaskStatus(failed.taskId, 'failed', 'no disk');
    expect(await resultOf(failed.taskId)).toMatchObject({ code: -32603, message: 'no disk' });
    const expired = await created(ALICE, { ttl: 1_000 });
    const signal = store.signalOf(expired.taskId);
    await pass(clock, 1_001);
    expect(signal.aborted).toBe(true);
    expect(await resultOf(expired.taskId)).toMatchObject({ message: expect.stringContaining('expired') });
  });

  it('[C-025] is dropped with a warning when its task is long gone, or the store is closed', async () => {
    const { store, tasks, created, clock, warnings } = aStore();
    const { taskId } = await created(ALICE, { ttl: 1_000 });
    const open = await created(ALICE);
    await pass(clock, 5 * 60_000);
    expect(await store.getTask(taskId)).toBeNull();
    await store.storeTaskResult(taskId, 'completed', text('late') as never);
    expect(warnings().map(({ message }) => message)).toEqual([
      'a result came for a task that is not there, or no more, and was dropped',
    ]);
    await tasks.close();
    expect(store.signalOf(open.taskId).aborted).toBe(true);
    await store.storeTaskResult(open.taskId, 'completed', text('late') as never);
    expect(warnings().at(-1)?.message).toContain('after the store was closed');
  });

  it('ends no task of a tool of ours', async () => {
    const { store, tasks } = aStore();
    tasks.registerTool('ours', {}, (_args, task) => task.sleep(1_000).then(() => text('ours')));
    const { task } = await tasks.engine.create({
      definition: tasks.tools[0]!.definition,
      principal: { subject: subjectOf('alice') },
      input: {},
      revision: '2025-11-25',
      abilities: { form: false },
    });
    const end = store.storeTaskResult(task.taskId, 'completed', text('forged') as never);
    await expect(end).rejects.toThrow('whose handler ends it');
    expect(await inRequest(() => store.listTasks(), ALICE)).toMatchObject({ tasks: [{ taskId: task.taskId }] });
  });

  it('fails with a result that cannot be kept, told as such', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    await store.storeTaskResult(taskId, 'completed', { content: [], big: 1n } as never);
    expect(await store.getTask(taskId)).toMatchObject({
      status: 'failed',
      statusMessage: expect.stringContaining('the result of build'),
    });
  });

  it('says isError for what is stored as failed, or the result would pass for a success', async () => {
    const { store, created } = aStore();
    const { taskId } = await created(ALICE);
    await store.storeTaskResult(taskId, 'failed', text('no disk') as never);
    expect(await inRequest(() => store.getTaskResult(taskId), ALICE)).toEqual({ ...text('no disk'), isError: true });
    expect(await store.getTask(taskId)).toMatchObject({ status: 'failed', statusMessage: 'no disk' });
  });
});

describe('what is on record of a task of registerToolTask', () => {
  it('is its tool, its arguments, its context and its request', async () => {
    const { tasks, created } = aStore();
    const { taskId } = await created(ALICE, { context: { queue: 'nightly' } });
    expect(taskId).toMatch(/^tsk_[\w-]{24}$/); // 144 random bits.
    expect(await tasks.inspect.get(taskId)).toMatchObject({
      method: 'tools/call',
      name: 'build',
      revision: '2025-11-25',
      runState: 'leased',
    });
    expect(await tasks.inspect.payloads(taskId)).toMatchObject({
      input: { target: 'app' },
      prepared: { queue: 'nightly' },
    });
    const listed = await tasks.inspect.list({ name: 'build' });
    expect(listed.tasks.map((task) => task.taskId)).toEqual([taskId]);
  });

  it.each([
    ['what was asked for', { ttl: 5_000 }, 5_000],
    ['beyond 32 bits of milliseconds', { ttl: 2 ** 31 + 1_000 }, 2 ** 31 + 1_000],
    ['clamped to the most there is', { ttl: 2 ** 50 }, DEFAULTS.maxTtlMs],
    ['the most there is, for null', { ttl: null }, DEFAULTS.maxTtlMs],
    ['that of the tasks', {}, DEFAULTS.ttlMs],
  ])('[G2-S-64] has a life that is reported: %s', async (_what, params, ttl) => {
    const { store, created, clock } = aStore({}, { sweepMs: 3_600_000, leaseMs: 2 ** 29 });
    const task = await created(ALICE, params);
    expect(task.ttl).toBe(ttl);
    clock.advance(Math.min(ttl, 2 ** 31) - 1); // A timer of Node would have gone off at once.
    expect(await store.getTask(task.taskId)).toMatchObject({ status: 'working' });
  });

  it('grows with the result, which is kept for a while', async () => {
    const { store, created, clock } = aStore({ ttlMs: 60_000, keepResultMs: 3_600_000, pollIntervalMs: 200 });
    const { taskId, ttl, pollInterval } = await created(ALICE);
    expect([ttl, pollInterval]).toEqual([60_000, 200]);
    clock.advance(1_000);
    await store.storeTaskResult(taskId, 'completed', text('built') as never);
    expect(await store.getTask(taskId)).toMatchObject({ ttl: 3_601_000 });
    await pass(clock, 3_590_000);
    expect(await store.getTask(taskId)).toMatchObject({ status: 'completed' });
    await pass(clock, 20_000);
    expect(await store.getTask(taskId)).toBeNull();
  });

  it('rises with every word, whatever the clock does', async () => {
    const { store, created } = aStore();
    const { taskId, lastUpdatedAt } = await created(ALICE);
    const times = [lastUpdatedAt];
    for (const message of ['a', 'b']) {
      await store.updateTaskStatus(taskId, 'working', message);
      times.push((await store.getTask(taskId))!.lastUpdatedAt);
    }
    expect(new Set(times).size).toBe(3);
    expect([...times].sort()).toEqual(times);
  });

  it('[G2-S-63] is bounded, and told in an error what the bound is', async () => {
    const { created } = aStore({}, { maxOpenTasksPerPrincipal: 2 });
    await created(ALICE);
    await created(ALICE);
    await expect(created(ALICE)).rejects.toThrow('open tasks');
    await expect(created(BOB, { ttl: 0 })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('params.task.ttl'),
    });
    await expect(created(BOB, { context: { self: 1n } })).rejects.toThrow('Internal error');
    await created(BOB);
  });
});

describe('polls of a task of registerToolTask', () => {
  it('[G2-S-62] have their turn; looks of the SDK and of the author do not wait', async () => {
    const { store, created, clock } = aStore({}, { maxPollsPerSecond: 1 });
    const { taskId } = await created(ALICE);
    const poll = () => inRequest(() => store.getTask(taskId), { ...ALICE, method: 'tasks/get' });
    await poll();
    await poll();
    let late = false;
    const third = poll().then((task) => {
      late = true;
      return task;
    });
    await settle();
    expect(late).toBe(false);
    for (const method of ['tasks/result', 'tools/call']) {
      expect(await inRequest(() => store.getTask(taskId), { ...ALICE, method })).toMatchObject({ taskId });
    }
    expect(late).toBe(false);
    clock.advance(1_000);
    expect(await third).toMatchObject({ taskId });
  });
});

describe('options', () => {
  it.each([
    [{ ttlMs: 0 }, 'durableTaskStore: ttlMs must be a whole number of at least 1, got 0'],
    [{ keepResultMs: 1.5 }, 'keepResultMs'],
    [{ pollIntervalMs: Number.NaN }, 'pollIntervalMs'],
  ])('refuses %j', (options, message) => {
    expect(() => durableTaskStore(someTasks().tasks, options)).toThrow(message);
  });

  it('refuses to keep tasks nowhere', () => {
    expect(() => durableTaskStore({} as never)).toThrow('tasks must be what createTasks(…) gives');
  });

  it('refuses what is no server, no function, and what is connected', () => {
    expect(() => ownTasks({ server: {} } as never)).toThrow('must be an McpServer or Server');
    const server = { connect: async () => {} };
    expect(() => ownTasks(server, { principal: 'me' as never })).toThrow('principal must be a function');
    expect(() => ownTasks(Object.assign(server, { transport: {} }))).toThrow('before connect');
  });
});
