import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { StoreUnavailableError, TaskError } from '../../src/core/index.ts';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { sqliteStore, type TaskStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred, settle } from '../support/engine.ts';
import { interceptedStore } from '../support/intercepted-store.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { closing, serve } from './peer.ts';

const never = (): Promise<never> => new Promise(() => {});
const unknown = { code: -32602, message: 'Task not found' };

/** What a task's answer has beside the members every task has. */
function payload(task: Json): Json {
  const { taskId, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, _meta, ...rest } = task;
  expect({ taskId, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs }).toEqual({
    taskId: expect.any(String),
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    lastUpdatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    ttlMs: expect.any(Number),
    pollIntervalMs: expect.any(Number),
  });
  return rest;
}

/** Runs one tool as a task and returns how it ended. */
async function ended(handler: (args: never, task: TaskContext) => unknown, config: object = {}): Promise<Json> {
  const { peer, when } = serve((tasks) => tasks.registerTool('tool', config, handler as never));
  const { taskId } = await peer.start('tool');
  return when(taskId, ({ status }) => status !== 'working');
}

describe('tasks/get', () => {
  it('of a task that works has its status and no payload [G3-S-16] [G3-S-22]', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never));
    const { taskId } = await peer.start('slow');
    const { result } = await peer.get(taskId);
    expect(payload(result)).toEqual({ resultType: 'complete', status: 'working' });
    expect(result['taskId']).toBe(taskId);
  });

  it('of a task that waits has every open question [G3-S-17] [G3-S-18] [G3-S-22] [G3-S-31]', async () => {
    const { peer, when } = serve((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const schema = z.object({ ok: z.boolean() });
        await Promise.all([task.ask('a', { message: 'A?', schema }), task.ask('b', { message: 'B?', schema })]);
        return text('done');
      }),
    );
    const { taskId } = await peer.start('asks');
    const both = (task: Json) => Object.keys((task['inputRequests'] as Json) ?? {}).length === 2;
    const question = (message: string) => ({
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message,
        requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
      },
    });
    expect(payload(await when(taskId, both))).toEqual({
      resultType: 'complete',
      status: 'input_required',
      inputRequests: { a: question('A?'), b: question('B?') },
    });
  });

  it('of a completed task has the result the call would have had [G3-S-19] [G3-S-22] [G3-S-70]', async () => {
    const told = {
      content: [{ type: 'text', text: '42 frames' }],
      structuredContent: { frames: 42 },
      _meta: { 'example.com/kept': 1, 'io.modelcontextprotocol/related-task': { taskId: 'x' } },
    };
    const task = await ended(() => told, { outputSchema: z.object({ frames: z.number() }) });
    expect(payload(task)).toEqual({
      resultType: 'complete',
      status: 'completed',
      result: { ...told, _meta: { 'example.com/kept': 1 }, resultType: 'complete' },
    });
  });

  it('of a tool that reports a failure is completed, with that report untouched [G3-S-55] [G3-S-56] [C-001] [C-005]', async () => {
    const report = {
      content: [{ type: 'text', text: 'codec not available' }],
      structuredContent: { reason: ['of another shape'], detail: null },
      isError: true,
    };
    const config = { outputSchema: z.object({ frames: z.number() }) };
    const task = await ended(() => report, config);
    expect(payload(task)).toEqual({
      resultType: 'complete',
      status: 'completed',
      result: { ...report, resultType: 'complete' },
    });
    const { peer } = serve((tasks) => tasks.registerTool('tool', config, () => report as never));
    const { _meta, ...inline } = (await peer.call('tool', {}, { capabilities: {} })).result;
    expect(JSON.stringify(inline)).toBe(JSON.stringify(task['result']));
  });

  it('of a cancelled task has its status [G3-S-20] [G3-S-22]', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never));
    const { taskId } = await peer.start('slow');
    await peer.cancel(taskId);
    expect(payload((await peer.get(taskId)).result)).toEqual({
      resultType: 'complete',
      status: 'cancelled',
      statusMessage: 'cancelled by the client',
    });
  });

  it.each<[string, unknown, Json]>([
    [
      'a JSON-RPC error the tool chose, with code and data',
      Object.assign(new Error('no such film'), { code: -32050, data: { film: 'a', tried: [1, null] } }),
      { code: -32050, message: 'no such film', data: { film: 'a', tried: [1, null] } },
    ],
    ['an error without a code', new Error('broken'), { code: -32603, message: 'broken' }],
    [
      'an error with a code that is none',
      Object.assign(new Error('gone'), { code: 'ENOENT' }),
      { code: -32603, message: 'gone' },
    ],
    ['a string', 'out of film', { code: -32603, message: 'out of film' }],
    ['nothing at all', undefined, { code: -32603, message: 'the tool failed without a message' }],
  ])(
    'of a tool that threw %s is failed, with exactly that error [G3-S-21] [G3-S-22] [G3-S-49] [G3-S-53] [G3-S-54] [G3-S-57]',
    async (_, thrown, error) => {
      const task = await ended(() => {
        throw thrown;
      });
      expect(payload(task)).toEqual({
        resultType: 'complete',
        status: 'failed',
        statusMessage: error['message'],
        error,
      });
      expect(JSON.stringify(task)).not.toMatch(/\.ts|node_modules|\s+at /);
    },
  );

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'tool tool returned no result object'],
    ['a string', 'done', 'tool tool returned no result object'],
    ['no content', { done: true }, 'tool tool returned a result without a content array'],
    [
      'a handle',
      { resultType: 'task', taskId: 'x', status: 'working' },
      'tool tool returned a result without a content array',
    ],
    [
      'a strange block',
      { content: [{ type: 'film' }] },
      'tool tool returned content that is none: a block of no known type',
    ],
    [
      'half a block',
      { content: [{ type: 'text' }] },
      'tool tool returned content that is none: a text block without text',
    ],
    ['an odd flag', { content: [], isError: 'yes' }, 'tool tool returned an isError that is no boolean'],
  ])(
    'of a task-only tool that returned %s is an internal error that names the tool, for the operator too [G3-S-49] [C-011]',
    async (_, result, message) => {
      const { peer, reaches, log } = serve((tasks) =>
        tasks.registerTool('tool', { task: { support: 'required' } }, () => result as never),
      );
      const { taskId } = await peer.start('tool');
      const task = await reaches(taskId, 'failed');
      expect(task).toMatchObject({ statusMessage: message, error: { code: -32603, message, data: { tool: 'tool' } } });
      expect(task).not.toHaveProperty('result');
      const fields = expect.objectContaining({ tool: 'tool', error: expect.objectContaining({ message }) });
      expect(log).toContainEqual({ level: 'error', message: 'a tool failed', fields });
    },
  );

  it.each<[string, Json, RegExp]>([
    ['does not fit', { content: [], structuredContent: { frames: 'many' } }, /outputSchema refuses: frames/],
    ['is missing', { content: [] }, /no structuredContent/],
  ])('of a tool whose promised output %s is an internal error [G3-S-49] [G3-S-55]', async (_, result, message) => {
    const task = await ended(() => result, { outputSchema: z.object({ frames: z.number() }) });
    expect(task).toMatchObject({ status: 'failed', error: { code: -32603, message: expect.stringMatching(message) } });
  });

  it('shows how far a task is, in words and in numbers', async () => {
    const reported = deferred();
    const { peer, clock, when } = serve((tasks) =>
      tasks.registerTool('slow', {}, async (_args, task) => {
        task.progress(45, 100, 'a.mp4');
        reported.resolve();
        return never();
      }),
    );
    const { taskId } = await peer.start('slow');
    await reported.promise;
    clock.advance(100);
    const task = await when(taskId, ({ statusMessage }) => statusMessage !== undefined);
    expect(task).toMatchObject({
      status: 'working',
      statusMessage: '45/100 a.mp4',
      _meta: {
        'longcall/progress': { progress: 45, total: 100, message: 'a.mp4' },
        'io.modelcontextprotocol/serverInfo': { name: 'test-server' },
      },
    });
  });

  it('follows a task through its states, the last of which stays [G3-S-15]', async () => {
    const { peer, reaches, clock } = serve((tasks) =>
      tasks.registerTool('asks', {}, async (_args, task) => {
        const schema = z.object({ ok: z.boolean() });
        await task.ask('first', { message: 'Go on?', schema });
        await goOn.promise;
        await task.ask('second', { message: 'And on?', schema });
        return text('done');
      }),
    );
    const goOn = deferred();
    const yes = { action: 'accept', content: { ok: true } };
    const { taskId } = await peer.start('asks');
    await reaches(taskId, 'input_required');
    await peer.update(taskId, { first: yes });
    expect((await peer.get(taskId)).result['status']).toBe('working');
    goOn.resolve();
    await reaches(taskId, 'input_required');
    await peer.update(taskId, { second: yes });
    const done = await reaches(taskId, 'completed');
    clock.advance(1_000);
    await peer.cancel(taskId);
    await peer.update(taskId, { first: yes, second: yes });
    expect((await peer.get(taskId)).result).toMatchObject({ ...done, pollIntervalMs: expect.any(Number) });
  });

  it('gives the same answer as often as it is asked [G3-S-76]', async () => {
    const { peer, reaches } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')));
    const { taskId } = await peer.start('quick');
    const done = await reaches(taskId, 'completed');
    const answers = await Promise.all(Array.from({ length: 15 }, () => peer.get(taskId)));
    for (const { result } of answers) expect(result).toEqual(done);
  });
});

describe('a task that is not there', () => {
  it.each([
    ['unknown', 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA'],
    ['not ours', '00000000-0000-0000-0000-000000000000'],
    ['empty', ''],
    ['10 kB long', 'x'.repeat(10_240)],
    ['in need of encoding', 'Zürich ☃'],
    ['a piece of SQL', "' or '1'='1"],
    ['a prototype', '__proto__'],
  ])('is not found, by no method: %s [G3-S-34] [G3-S-39] [G3-S-48] [G3-S-51] [C-010]', async (_, taskId) => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never));
    const headers = taskId === '' ? { 'mcp-name': '' } : {};
    for (const reply of [
      await peer.get(taskId, { headers }),
      await peer.update(taskId, {}, { headers }),
      await peer.update(taskId, { a: { action: 'cancel' } }, { headers }),
      await peer.cancel(taskId, { headers }),
    ]) {
      expect({ status: reply.status, error: reply.error }).toEqual({ status: 200, error: unknown });
    }
  });
});

describe('the life of a task', () => {
  it('lasts as long as its handle says, and not longer [G3-S-26] [G3-S-52] [C-010]', async () => {
    const { peer, clock, reaches } = serve((tasks) =>
      tasks.registerTool('quick', { task: { ttlMs: 60_000, keepResultMs: 1 } }, () => text('done')),
    );
    const { taskId, ttlMs } = await peer.start('quick');
    expect(ttlMs).toBe(60_000);
    const done = await reaches(taskId, 'completed');
    clock.advance(59_999);
    await settle();
    expect((await peer.get(taskId)).result).toMatchObject({ status: 'completed', result: done['result'] });
    clock.advance(1);
    for (const { error } of [await peer.get(taskId), await peer.cancel(taskId), await peer.update(taskId, {})]) {
      expect(error).toEqual(unknown);
    }
  });

  it('is not over while the task still works [G3-S-26]', async () => {
    const { peer, clock } = serve((tasks) => tasks.registerTool('slow', { task: { ttlMs: 60_000 } }, never));
    const { taskId } = await peer.start('slow');
    clock.advance(59_999);
    await settle();
    expect((await peer.get(taskId)).result).toMatchObject({ status: 'working', ttlMs: 60_000 });
  });
});

describe('timestamps', () => {
  it('tell of the task, not of the reading, also after a restart [C-008]', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const store = () => sqliteStore(`${folder.path}/tasks.db`);
    const register = (handler: (task: TaskContext) => Promise<never>) => (tasks: Tasks) =>
      tasks.registerTool('slow', { task: { onWorkerLost: 'rerun' } }, (_args, task) => handler(task));

    const first = serve(register(never), { tasks: { store: store() } });
    const { taskId, createdAt, lastUpdatedAt } = await first.peer.start('slow');
    const read = async ({ peer }: typeof first) => {
      const { result } = await peer.get(taskId);
      return [result['createdAt'], result['lastUpdatedAt']];
    };
    for (let second = 0; second < 3; second += 1) {
      expect(await read(first)).toEqual([createdAt, lastUpdatedAt]);
      first.clock.advance(1_000);
      await settle();
    }
    await closing(first.server, first.clock);

    const clock = new ManualClock(first.clock.now() + 60_000);
    const running = deferred<TaskContext>();
    const rerun = (task: TaskContext) => {
      running.resolve(task);
      return never();
    };
    const second = serve(register(rerun), { tasks: { store: store(), clock } });
    const [sameCreation, afterRestart] = await read(second);
    expect(sameCreation).toBe(createdAt);
    second.clock.advance(1_000);
    await settle();
    expect(await read(second)).toEqual([createdAt, afterRestart]);

    (await running.promise).progress(1);
    second.clock.advance(100);
    const changed = await second.when(taskId, ({ statusMessage }) => statusMessage === '1');
    expect(changed['createdAt']).toBe(createdAt);
    expect(Date.parse(String(changed['lastUpdatedAt']))).toBeGreaterThan(Date.parse(String(afterRestart)));
  });

  it('never go back, though the clock does [C-008]', async () => {
    const running = deferred<TaskContext>();
    const { peer, clock, when } = serve((tasks) =>
      tasks.registerTool('slow', {}, (_args, task) => {
        running.resolve(task);
        return never();
      }),
    );
    const { taskId, lastUpdatedAt } = await peer.start('slow');
    const task = await running.promise;
    clock.jump(-3_600_000);
    task.progress(1);
    clock.advance(100);
    const changed = await when(taskId, ({ statusMessage }) => statusMessage === '1');
    expect(Date.parse(String(changed['lastUpdatedAt']))).toBeGreaterThan(Date.parse(String(lastUpdatedAt)));
  });
});

describe('a store that fails', () => {
  const secret = '/srv/app/tasks.db';

  it.each([
    [
      'that it cannot be reached',
      new StoreUnavailableError(`disk I/O error in ${secret}`),
      'The server cannot reach its task store; try again later',
    ],
    ['nothing', new Error(`select * from tasks; ${secret}`), 'Internal error'],
  ])('is an internal error that tells %s, the rest to the operator only [G3-S-49]', async (_, error, message) => {
    let broken = false;
    const served: (keyof TaskStore)[] = ['create', 'get', 'openQuestions', 'cancel'];
    const store = interceptedStore((method, call) =>
      broken && served.includes(method) ? Promise.reject(error) : call(),
    );
    const { peer, log } = serve((tasks) => tasks.registerTool('slow', {}, never), { tasks: { store } });
    const { taskId } = await peer.start('slow');
    broken = true;
    for (const reply of [
      await peer.get(taskId),
      await peer.update(taskId, {}),
      await peer.cancel(taskId),
      await peer.call('slow'),
      await peer.call('slow', {}, { capabilities: {} }),
    ]) {
      expect({ status: reply.status, error: reply.error }).toEqual({ status: 200, error: { code: -32603, message } });
    }
    const told = log.filter(({ level }) => level === 'error').map(({ fields }) => (fields as { error: unknown }).error);
    // Of an error of the store's own all of it; of one that may say anything, its kind and where it was thrown.
    const opaque = { type: 'Error', stack: expect.stringMatching(/polling\.test\.ts/) };
    expect(told).toEqual(Array.from({ length: 5 }, () => (error instanceof TaskError ? error : opaque)));
    broken = false;
    expect((await peer.get(taskId)).result['status']).toBe('working');
  });
});
