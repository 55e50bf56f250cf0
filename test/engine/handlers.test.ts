import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  InputNotSupportedError,
  LOCAL_PRINCIPAL,
  TaskCancelledError,
  TaskTimedOutError,
} from '../../src/core/index.ts';
import { type TaskContext, type Tasks, text } from '../../src/engine/index.ts';
import { deferred, pass, reaches, recordingLogger, settle, someTasks, start } from '../support/engine.ts';

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

describe('a handler', () => {
  it('gets the arguments its schema made of those that came, and its result is kept', async () => {
    const { tasks } = fresh();
    const inputSchema = z.object({
      at: z.iso.datetime().transform((value) => new Date(value)),
      n: z.number().default(3),
    });
    tasks.registerTool('echo', { inputSchema }, async ({ at, n }) => text(`${at.getUTCFullYear()} ${n}`));
    const { taskId } = await start(tasks, 'echo', { at: '2026-01-02T03:04:05Z' });
    expect(await outcome(tasks, taskId)).toEqual({ status: 'completed', result: text('2026 3') });
  });

  it('gets the same arguments in every run, also where JSON has no word for what came', async () => {
    const { tasks, clock } = fresh();
    const seen: unknown[] = [];
    tasks.registerTool('naps', { inputSchema: z.object({ value: z.unknown() }) }, async ({ value }, task) => {
      seen.push(value);
      await task.sleep(60_000);
      return text('');
    });
    const { taskId } = await start(tasks, 'naps', JSON.parse('{ "value": [1e400, -0] }'));
    await settle();
    await pass(clock, 61_000);
    await outcome(tasks, taskId);
    expect(seen).toHaveLength(2);
    expect(seen[1]).toStrictEqual(seen[0]);
  });

  it('keeps isError and structured content as they were', async () => {
    const { tasks } = fresh();
    const result = { content: [], structuredContent: { why: 'red' }, isError: true };
    const outputSchema = z.object({ ok: z.boolean() });
    tasks.registerTool('judge', { outputSchema }, () => result);
    const { taskId } = await start(tasks, 'judge');
    expect(await outcome(tasks, taskId)).toEqual({ status: 'completed', result });
  });

  it.each([
    [
      'an error with a JSON-RPC code',
      Object.assign(new Error('no quota'), { code: -32050, data: { left: 0 } }),
      { code: -32050, message: 'no quota', data: { left: 0 } },
    ],
    ['a plain error', new Error('boom'), { code: -32603, message: 'boom' }],
    ['a string', 'boom', { code: -32603, message: 'boom' }],
    ['nothing', undefined, { code: -32603, message: 'the tool failed without a message' }],
    [
      'an error of the operating system',
      Object.assign(new Error('no such file'), { code: 'ENOENT' }),
      { code: -32603, message: 'no such file' },
    ],
  ])('that throws %s fails its task with it', async (_what, error, expected) => {
    const { tasks } = fresh();
    tasks.registerTool('thrower', {}, () => {
      throw error;
    });
    const { taskId } = await start(tasks, 'thrower');
    expect(await outcome(tasks, taskId)).toEqual({ status: 'failed', error: expected });
  });

  it.each([
    ['nothing', undefined, /returned no result object/],
    ['no content', {}, /without a content array/],
    [
      'a value JSON cannot carry',
      { content: [{ type: 'text', text: 'x', at: new Date(0) }] },
      /"content\[0\]\.at" is a Date/,
    ],
    ['something its outputSchema refuses', { content: [], structuredContent: { ok: 1 } }, /outputSchema refuses: ok/],
    ['no structured content though it has an outputSchema', { content: [] }, /no structuredContent/],
  ])('that returns %s fails its task, naming the tool', async (_what, result, message) => {
    const { tasks } = fresh();
    const config = { outputSchema: z.object({ ok: z.boolean() }) };
    const plain = message.source.includes('structuredContent') || message.source.includes('outputSchema');
    tasks.registerTool('odd', plain ? config : {}, () => result as never);
    const { taskId } = await start(tasks, 'odd');
    const state = await outcome(tasks, taskId);
    expect(state).toMatchObject({ status: 'failed', error: { code: -32603, message: expect.stringMatching(message) } });
    expect(JSON.stringify(state)).toContain('odd');
  });

  it('may return structured content alone', async () => {
    const { tasks } = fresh();
    tasks.registerTool('count', { outputSchema: z.object({ n: z.number() }) }, () => ({ structuredContent: { n: 2 } }));
    const { taskId } = await start(tasks, 'count');
    expect(await outcome(tasks, taskId)).toMatchObject({
      result: { structuredContent: { n: 2 }, content: [{ type: 'text', text: '{"n":2}' }] },
    });
  });

  it('whose result is too large to keep fails its task', async () => {
    const { tasks } = fresh({ maxResultBytes: 2_000 });
    tasks.registerTool('big', {}, () => text('x'.repeat(2_000)));
    const { taskId } = await start(tasks, 'big');
    expect(await outcome(tasks, taskId)).toMatchObject({
      error: { message: expect.stringMatching(/at most 2000 are kept; keep it elsewhere/) },
    });
  });
});

describe('cancel', () => {
  it('is decided at once, fires the signal with its reason, and drops what comes later [C-018]', async () => {
    const { logger, lines } = recordingLogger();
    const { tasks } = fresh({ logger, stopGraceMs: 5_000 });
    const aborted = deferred<unknown>();
    const finish = deferred();
    tasks.registerTool('long', {}, async (_args, task) => {
      task.signal.addEventListener('abort', () => aborted.resolve(task.signal.reason));
      await finish.promise;
      return text('late');
    });
    const { taskId } = await start(tasks, 'long');
    expect(await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'enough')).toBe('cancelled');
    expect(await aborted.promise).toBeInstanceOf(TaskCancelledError);
    finish.resolve();
    await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual({ status: 'cancelled', reason: 'enough' });
    expect(await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL)).toBe('already_terminal');
    expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  it('makes the next step throw, so that a loop ends', async () => {
    const { tasks } = fresh();
    const seen = deferred<unknown>();
    const [first, gate] = [deferred(), deferred()];
    tasks.registerTool('loop', {}, async (_args, task) => {
      await task.step('first', () => 1);
      first.resolve();
      await gate.promise;
      await task
        .step('second', () => 2)
        .catch((error) => {
          seen.resolve(error);
          throw error;
        });
      return text('never');
    });
    const { taskId } = await start(tasks, 'loop');
    await first.promise;
    await tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    await settle();
    gate.resolve();
    expect(await seen.promise).toBeInstanceOf(TaskCancelledError);
  });
});

describe('timeoutMs', () => {
  it('ends the task and aborts its handler', async () => {
    const { tasks, clock } = fresh();
    const aborted = deferred<unknown>();
    tasks.registerTool('slow', { task: { timeoutMs: 5_000 } }, async (_args, task) => {
      task.signal.addEventListener('abort', () => aborted.resolve(task.signal.reason));
      await new Promise(() => {});
      return text('never');
    });
    const { taskId } = await start(tasks, 'slow');
    await settle();
    clock.advance(4_999);
    await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state.status).toBe('working');
    clock.advance(1);
    expect(await outcome(tasks, taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/5000 ms/) },
    });
    expect(await aborted.promise).toBeInstanceOf(TaskTimedOutError);
  });
});

describe('ask', () => {
  const yes = z.object({ squash: z.boolean() });

  it('waits in memory and goes on with the answer', async () => {
    const { tasks } = fresh();
    let runs = 0;
    tasks.registerTool('merge', {}, async (_args, task) => {
      runs += 1;
      return text(JSON.stringify(await task.ask('merge', { message: 'Merge?', schema: yes })));
    });
    const { taskId } = await start(tasks, 'merge');
    await reaches(tasks, taskId, 'input_required');
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({
      inputRequests: {
        merge: {
          message: 'Merge?',
          schema: { type: 'object', required: ['squash'], properties: { squash: { type: 'boolean' } } },
        },
      },
    });
    await tasks.engine.answer(
      taskId,
      LOCAL_PRINCIPAL,
      new Map([['merge', { action: 'accept', content: { squash: true } }]]),
    );
    expect(await outcome(tasks, taskId)).toMatchObject({
      result: text('{"action":"accept","content":{"squash":true}}'),
    });
    expect(runs).toBe(1);
  });

  it('parks after a while, holds no slot, and runs again over its records when the answer comes', async () => {
    const { tasks, clock } = fresh({ slots: 1, holdInputMs: 20_000 });
    const steps: string[] = [];
    const signals: boolean[] = [];
    tasks.registerTool('approve', {}, async (_args, task) => {
      signals.push(task.signal.aborted);
      await task.step('prepare', () => void steps.push('prepare'));
      const { action } = await task.ask('go', { message: 'Go?', schema: yes });
      await task.step('act', () => void steps.push('act'));
      return text(`${action} ${task.attempt}`);
    });
    tasks.registerTool('quick', {}, () => text('quick'));
    const { taskId } = await start(tasks, 'approve');
    await reaches(tasks, taskId, 'input_required');
    clock.advance(20_000);
    await settle();
    const quick = await start(tasks, 'quick'); // The only slot is free.
    await outcome(tasks, quick.taskId);
    clock.advance(5 * 24 * 3_600_000);
    await tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['go', { action: 'decline' }]]));
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('decline 1') });
    expect(steps).toEqual(['prepare', 'act']);
    expect(signals).toEqual([false, false]);
  });

  it('takes several questions at once and partial answers', async () => {
    const { tasks } = fresh();
    tasks.registerTool('two', {}, async (_args, task) => {
      const ask = (name: string) => task.ask(name, { message: `${name}?`, schema: yes });
      const [a, b] = await Promise.all([ask('a'), ask('b')]);
      return text(`${a.action} ${b.action}`);
    });
    const { taskId } = await start(tasks, 'two');
    const keys = async () => [...(await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL)).keys()];
    await reaches(tasks, taskId, 'input_required');
    await settle();
    expect(await keys()).toEqual(['a', 'b']);
    await tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['b', { action: 'decline' }]]));
    expect(await keys()).toEqual(['a']);
    await tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([['a', { action: 'cancel' }]]));
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('cancel decline') });
  });

  it('refuses answers that do not fit, and asks again where only the author knows better', async () => {
    const { tasks } = fresh();
    const schema = z.object({ branch: z.string().regex(/^[a-z]+$/), n: z.number().max(5) });
    tasks.registerTool('branch', {}, async (_args, task) => {
      const answer = await task.ask('branch', { message: 'Which?', schema });
      return text(answer.action === 'accept' ? answer.content.branch : answer.action);
    });
    const { taskId } = await start(tasks, 'branch');
    await reaches(tasks, taskId, 'input_required');
    const answer = (key: string, content: object) =>
      tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[key, { action: 'accept', content: content as never }]]));
    await expect(answer('branch', { branch: 'main', n: 9 })).rejects.toThrow(
      'inputResponses.branch: content.n must be <= 5',
    );
    await answer('branch', { branch: 'NOT OK', n: 1 }); // The form cannot say the pattern.
    await settle();
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({
      inputRequests: { 'branch-2': { message: expect.stringMatching(/did not fit: branch/) } },
    });
    await answer('branch-2', { branch: 'main', n: 1 });
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('main') });
  });

  it('tells a handler whose caller cannot be asked', async () => {
    const { tasks } = fresh();
    const caught = deferred<unknown>();
    tasks.registerTool('ask', {}, async (_args, task) => {
      await task.ask('q', { message: 'Q?', schema: yes }).catch((error) => caught.resolve(error));
      return text('went on without');
    });
    const { taskId } = await start(tasks, 'ask', {}, { form: false });
    expect(await caught.promise).toBeInstanceOf(InputNotSupportedError);
    expect(await outcome(tasks, taskId)).toMatchObject({ result: text('went on without') });
  });

  it.each([
    ['nested objects', z.object({ deep: z.object({ x: z.string() }) }), /schema\.deep must be/],
    ['no object', z.string(), /schema must be an object/],
    ['lists of anything', z.object({ list: z.array(z.string()) }), /schema\.list must be/],
  ])('refuses a schema hosts cannot draw: %s', async (_what, schema, message) => {
    const { tasks } = fresh();
    tasks.registerTool('ask', {}, async (_args, task) => {
      await task.ask('q', { message: 'Q?', schema: schema as never });
      return text('no');
    });
    const { taskId } = await start(tasks, 'ask');
    expect(await outcome(tasks, taskId)).toMatchObject({ error: { message: expect.stringMatching(message) } });
  });

  it('draws what hosts can: text, formats, numbers, choices, defaults', async () => {
    const { tasks } = fresh();
    const schema = z.object({
      mail: z.email().describe('Yours'),
      level: z.enum(['low', 'high']).default('low'),
      many: z.array(z.enum(['a', 'b'])).optional(),
      n: z.int().min(1),
    });
    tasks.registerTool('ask', {}, async (_args, task) => text((await task.ask('q', { message: 'Q?', schema })).action));
    const { taskId } = await start(tasks, 'ask');
    await reaches(tasks, taskId, 'input_required');
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({
      inputRequests: {
        q: {
          schema: {
            properties: {
              mail: { type: 'string', format: 'email', description: 'Yours' },
              level: { type: 'string', enum: ['low', 'high'], default: 'low' },
              many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
              n: { type: 'integer', minimum: 1 },
            },
            required: ['mail', 'n'],
          },
        },
      },
    });
  });
});

describe('step', () => {
  it('is remembered by name and order, and yields what a later run would see', async () => {
    const { tasks } = fresh();
    const values: unknown[] = [];
    tasks.registerTool('steps', {}, async (_args, task) => {
      for (const n of [1, 2])
        values.push(await task.step('loop', ({ idempotencyKey }) => ({ n, key: idempotencyKey, gone: undefined })));
      values.push(await task.step('void', () => {}));
      return text('ok');
    });
    const { taskId } = await start(tasks, 'steps');
    await outcome(tasks, taskId);
    expect(values).toEqual([{ n: 1, key: `${taskId}/loop#1` }, { n: 2, key: `${taskId}/loop#2` }, undefined]);
    expect(Object.keys(values[0] as object)).toEqual(['n', 'key']);
  });

  it('refuses a value that is not JSON, naming the step', async () => {
    const { tasks } = fresh();
    tasks.registerTool('bad', {}, async (_args, task) => text(String(await task.step('when', () => new Date(0)))));
    const { taskId } = await start(tasks, 'bad');
    expect(await outcome(tasks, taskId)).toMatchObject({
      error: { message: expect.stringMatching(/^step "when": .*Date/) },
    });
  });
});

describe('progress and log', () => {
  it('are gathered, readable while the task runs, and never throw', async () => {
    const { tasks, clock } = fresh();
    const gate = deferred();
    let context: TaskContext | undefined;
    tasks.registerTool('talk', {}, async (_args, task) => {
      context = task;
      for (let n = 1; n <= 1_000; n += 1) task.progress(n, 1_000, `file ${n}`);
      task.progress(Number.NaN);
      task.log('hello');
      task.log('ouch', 'error');
      await gate.promise;
      return text('done');
    });
    const { taskId } = await start(tasks, 'talk');
    await settle();
    clock.advance(100);
    await settle();
    const running = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(running.progress).toEqual({ progress: 1_000, total: 1_000, message: 'file 1000' });
    expect(running.version).toBe(2); // A thousand reports, one write.
    gate.resolve();
    await outcome(tasks, taskId);
    context?.progress(2_000);
    context?.log('from beyond');
    clock.advance(1_000);
    await settle();
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).progress?.progress).toBe(1_000);
  });
});

describe('registration', () => {
  it.each([
    ['no name', () => someTasks().tasks.registerTool('', {}, () => text('')), /name must be/],
    ['no handler', () => someTasks().tasks.registerTool('x', {}, undefined as never), /handler must be a function/],
    [
      'a schema that is none',
      () => someTasks().tasks.registerTool('x', { inputSchema: { type: 'object' } as never }, () => text('')),
      /Standard Schema/,
    ],
    [
      'a schema that yields no JSON Schema',
      () =>
        someTasks().tasks.registerTool('x', { inputSchema: z.object({ f: z.custom(), d: z.date() }) }, () => text('')),
      /JSON Schema/,
    ],
    [
      'arguments that are no object',
      () => someTasks().tasks.registerTool('x', { inputSchema: z.string() as never }, () => text('')),
      /must describe an object/,
    ],
    [
      'a misspelt option',
      () => someTasks().tasks.registerTool('x', { task: { support: 'always' as never } }, () => text('')),
      /support must be one of/,
    ],
    [
      'a fractional limit',
      () => someTasks().tasks.registerTool('x', { task: { ttlMs: 1.5 } }, () => text('')),
      /ttlMs must be a whole number/,
    ],
    [
      'a name twice',
      () =>
        someTasks()
          .tasks.registerTool('x', {}, () => text(''))
          .registerTool('x', {}, () => text('')),
      /registered already; choose another name/,
    ],
    ['no store', () => someTasks({ store: undefined as never }), /store must be a task store/],
    [
      'a heartbeat slower than the lease',
      () => someTasks({ leaseMs: 1_000, heartbeatMs: 900 }),
      /heartbeatMs must be at most half/,
    ],
  ])('refuses %s at once, saying what was expected', (_what, register, message) => {
    expect(register).toThrow(message);
  });
});

describe('what one task may keep', () => {
  it.each([
    [
      'a value too large to record',
      async (task: TaskContext) => void (await task.step('big', () => 'x'.repeat(3_000))),
      /step "big" returned 3002 bytes; at most 2000 are recorded; keep it elsewhere/,
    ],
    [
      'more steps than allowed',
      async (task: TaskContext) => {
        for (let n = 0; n < 6; n += 1) await task.step('s', () => n);
      },
      /at most 5 steps/,
    ],
  ])('is limited: %s', async (_what, work, message) => {
    const { tasks } = fresh({ maxResultBytes: 2_000, maxStepsPerTask: 5 });
    tasks.registerTool('greedy', {}, async (_args, task) => {
      await work(task);
      return text('ok');
    });
    const { taskId } = await start(tasks, 'greedy');
    expect(await outcome(tasks, taskId)).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(message) },
    });
  });

  it('is limited: arguments, before a task exists', async () => {
    const { tasks } = fresh({ maxArgumentBytes: 1_024 });
    tasks.registerTool('any', {}, () => text('ok'));
    await expect(start(tasks, 'any', { blob: 'x'.repeat(1_024) })).rejects.toThrow(
      /1035 bytes; at most 1024 are taken; pass a reference/,
    );
  });
});
