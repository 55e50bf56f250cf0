import { acceptedContent, createRequestStateCodec, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { createTasks, type Prepared, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder, silent } from '../support/stores.ts';
import { closing, Peer, serve, validated } from './peer.ts';

const noTasks = { capabilities: {} };
const never = (): Promise<never> => new Promise(() => {});

describe('the handle of a new task', () => {
  it('is flat, and a receipt and no more [G3-S-08] [G3-S-10] [G3-S-14] [G3-S-69] [G3-S-71] [C-004]', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never));
    const { status, result } = await peer.call('slow');
    expect(status).toBe(200);
    expect(result).toEqual({
      resultType: 'task',
      taskId: expect.any(String),
      status: 'working',
      createdAt: '2026-01-01T00:00:00.000Z',
      lastUpdatedAt: '2026-01-01T00:00:00.000Z',
      ttlMs: 7 * 24 * 3_600_000,
      pollIntervalMs: 1_000,
      _meta: { 'io.modelcontextprotocol/serverInfo': expect.anything() },
    });
  });

  it('says what the tool grants: a life within bounds, or none that ends, and a pace [G3-S-69]', async () => {
    const { peer } = serve(
      (tasks) => {
        tasks.registerTool('short', { task: { ttlMs: 5, pollIntervalMs: 250 } }, never);
        tasks.registerTool('long', { task: { ttlMs: 1e12 } }, never);
        tasks.registerTool('endless', { task: { ttlMs: null } }, never);
      },
      { tasks: { maxTtlMs: 60_000 } },
    );
    expect(await peer.start('short')).toMatchObject({ ttlMs: 5, pollIntervalMs: 250 });
    expect(await peer.start('long')).toMatchObject({ ttlMs: 60_000 });
    expect(await peer.start('endless')).toMatchObject({ ttlMs: null });
  });

  it('has an id with 144 random bits that fits a header as it is [G3-S-58]', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')));
    const ids = await Promise.all(Array.from({ length: 200 }, async () => (await peer.start('quick')).taskId));
    for (const id of ids) expect(id).toMatch(/^tsk_[A-Za-z0-9_-]{24}$/);
    // Nothing but the prefix is the same twice, anywhere: no time, no counter.
    for (let at = 4; at < 28; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBeGreaterThan(16);
    expect(new Set(ids).size).toBe(200);
  });

  it('is sent when the task can be found, by this process and by any other [G3-S-11] [C-010]', async () => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const path = `${folder.path}/tasks.db`;
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never), { tasks: { store: sqliteStore(path) } });
    const clock = new ManualClock();
    const elsewhere = createTasks({ store: sqliteStore(path), slots: 0, logger: silent, clock, drainMs: 0 });
    onTestFinished(() => closing(elsewhere, clock));
    await elsewhere.start();
    const looked = Array.from({ length: 50 }, async () => {
      const { taskId } = await peer.start('slow');
      const there = await elsewhere.engine.get(taskId, LOCAL_PRINCIPAL);
      return [(await peer.get(taskId)).result['status'], there.state.status];
    });
    expect(await Promise.all(looked)).toEqual(looked.map(() => ['working', 'working']));
  });

  it('stays without payload when the task is over by then [G3-S-10] [G3-S-14]', async () => {
    const { peer, reaches } = serve((tasks) => tasks.registerTool('quick', {}, () => text('done')));
    const handles = await Promise.all(Array.from({ length: 50 }, () => peer.start('quick')));
    for (const handle of handles) expect(handle).not.toHaveProperty('result');
    for (const { taskId } of handles) expect(await reaches(taskId, 'completed')).toHaveProperty('result');
  });
});

describe('arguments', () => {
  it('that are wrong create no task and are told in words the model can use [G3-S-51]', async () => {
    let created = 0;
    const { peer } = serve((tasks) => {
      tasks.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) =>
        text(`${a + b}`),
      );
      const create = tasks.engine.create.bind(tasks.engine);
      tasks.engine.create = (request) => {
        created += 1;
        return create(request);
      };
    });
    for (const args of [{}, { a: '1', b: 2 }, { a: null, b: 2 }, [], 'x', null]) {
      const { status, message } = await peer.send('tools/call', { name: 'add', arguments: args });
      expect(status).toBe(200);
      expect(JSON.stringify(message)).toMatch(/"isError":true|"code":-32602/);
    }
    expect((await peer.call('add', { a: '1', b: 2 })).result).toMatchObject({
      isError: true,
      content: [
        {
          type: 'text',
          text: 'Input validation error: Invalid arguments for tool add: a: Invalid input: expected number, received string',
        },
      ],
    });
    expect(created).toBe(0);
    await peer.start('add', { a: 1, b: 2 });
    expect(created).toBe(1);
  });

  it('reach the handler as its schema made them, from what was stored as it came', async () => {
    const seen = deferred<unknown>();
    const inputSchema = z.object({ day: z.string().transform((text) => new Date(text)), times: z.number().default(3) });
    const { peer } = serve((tasks) =>
      tasks.registerTool('remind', { inputSchema }, (args) => {
        seen.resolve(args);
        return text('noted');
      }),
    );
    await peer.start('remind', { day: '2026-05-01', unknown: 1 });
    expect(await seen.promise).toEqual({ day: new Date('2026-05-01'), times: 3 });
  });
});

describe('input before the task', () => {
  const requestedSchema = z.object({ name: z.string() });

  function greeter(tasks: Tasks, runs: unknown[] = []): void {
    const prepare = (_args: unknown, { answers }: { answers: Json | undefined }): Prepared => {
      const answer = acceptedContent(answers, 'user', requestedSchema);
      if (answer !== undefined) return { prepared: { name: answer.name } };
      const user = inputRequired.elicit({ message: 'Who are you?', requestedSchema });
      return { respond: inputRequired({ inputRequests: { user }, requestState: 'round 1' }) };
    };
    for (const support of ['optional', 'required', 'forbidden'] as const) {
      tasks.registerTool(support, { task: { support, prepare } }, (_args, task) => {
        runs.push(task.prepared);
        return text(`hello ${(task.prepared as { name: string }).name}`);
      });
    }
  }
  const answered = { user: { action: 'accept', content: { name: 'Ada' } } };
  const again = (peer: Peer, name: string, sending = {}) =>
    peer.send('tools/call', { name, arguments: {}, inputResponses: answered, requestState: 'round 1' }, sending);

  it('is asked for in the answer to the call; only then the task begins [G3-S-13] [G3-S-30] [G3-S-31] [G3-S-71]', async () => {
    const runs: unknown[] = [];
    const { peer, reaches } = serve((tasks) => greeter(tasks, runs));
    for (const name of ['optional', 'required']) {
      const { result } = await peer.call(name);
      expect(result).toEqual({
        resultType: 'input_required',
        requestState: 'round 1',
        inputRequests: {
          user: {
            method: 'elicitation/create',
            params: {
              mode: 'form',
              message: 'Who are you?',
              requestedSchema: expect.objectContaining({ type: 'object' }),
            },
          },
        },
        _meta: expect.anything(),
      });
      expect(runs).toEqual([]);
      const { result: handle } = await again(peer, name);
      expect(handle).toMatchObject({ resultType: 'task', status: 'working' });
      expect(handle).not.toHaveProperty('requestState');
      expect(handle).not.toHaveProperty('inputRequests');
      const done = await reaches(String(handle['taskId']), 'completed');
      expect(done['result']).toMatchObject({ content: [{ type: 'text', text: 'hello Ada' }] });
      expect(done).not.toHaveProperty('requestState');
      expect(runs.splice(0)).toEqual([{ name: 'Ada' }]);
    }
  });

  it('is asked for in the same way of calls that are served inline', async () => {
    const { peer } = serve((tasks) => greeter(tasks));
    const forms = { capabilities: { elicitation: {} } };
    for (const name of ['optional', 'forbidden']) {
      expect((await peer.call(name, {}, forms)).result).toMatchObject({ resultType: 'input_required' });
      expect((await again(peer, name, forms)).result).toMatchObject({
        resultType: 'complete',
        content: [{ type: 'text', text: 'hello Ada' }],
      });
    }
  });

  it('is asked only of a client that said it can answer [G3-S-30]', async () => {
    const { peer } = serve((tasks) => greeter(tasks));
    for (const elicitation of [undefined, { url: {} }]) {
      const capabilities = { ...(elicitation && { elicitation }), extensions: { 'io.modelcontextprotocol/tasks': {} } };
      const { status, error } = await peer.call('optional', {}, { capabilities });
      expect(status).toBe(400);
      expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
    }
  });

  it('has to ask something, or hand out a state [G3-S-90]', async () => {
    const { peer } = serve((tasks) => {
      const prepare = () => ({ respond: { resultType: 'input_required' } });
      tasks.registerTool('mute', { task: { prepare } }, () => text(''));
    });
    expect((await peer.call('mute')).error.code).toBe(-32603);
  });

  it('may be sealed, so that a state the client made up is refused [G3-S-90]', async () => {
    const codec = createRequestStateCodec<{ round: number }>({ key: 'k'.repeat(32) });
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: new ManualClock(), drainMs: 0 });
    tasks.registerTool(
      'rounds',
      {
        task: {
          support: 'forbidden',
          prepare: async (_args, { state }): Promise<Prepared> =>
            state === undefined
              ? { respond: inputRequired({ requestState: await codec.mint({ round: 1 }) }) }
              : { prepared: state as { round: number } },
        },
      },
      (_args, task) => text(JSON.stringify(task.prepared)),
    );
    const handler = createTaskHandler(
      tasks,
      () => new McpServer({ name: 'sealed', version: '1.0.0' }, { requestState: { verify: codec.verify } }),
    );
    const peer = new Peer((request) => handler.fetch(request), validated());
    const state = String((await peer.call('rounds')).result['requestState']);
    const come = (requestState: unknown) => peer.send('tools/call', { name: 'rounds', arguments: {}, requestState });
    expect((await come(state)).result).toMatchObject({ content: [{ type: 'text', text: '{"round":1}' }] });
    const [version, , mac] = state.split('.');
    const forged = [version, Buffer.from('{"p":{"round":9},"exp":9e9}').toString('base64url'), mac].join('.');
    for (const bad of [forged, `${state}x`, 'round 9', '']) {
      expect({ bad, code: (await come(bad)).error?.code }).toEqual({ bad, code: -32602 });
    }
    await handler.close();
    await tasks.close();
  });

  it.each([
    ['as a failure, when prepare throws', new Error('not today'), { result: { isError: true } }],
    [
      'with the error prepare throws',
      Object.assign(new Error('not you'), { code: -32050 }),
      { error: { code: -32050 } },
    ],
  ])('may refuse the call: %s', async (_, error, answer) => {
    const { peer } = serve((tasks) => {
      const prepare = () => {
        throw error;
      };
      tasks.registerTool('picky', { task: { prepare } }, () => text(''));
    });
    const { message } = await peer.call('picky');
    expect(message).toMatchObject(answer);
    expect(JSON.stringify(message)).toContain(error.message);
  });

  it('may answer the call at once, with or without tasks', async () => {
    const { peer } = serve((tasks) => {
      tasks.registerTool('cached', { task: { prepare: () => ({ respond: text('from the cache') }) } }, never);
    });
    for (const sending of [{}, noTasks]) {
      expect((await peer.call('cached', {}, sending)).result).toMatchObject({
        resultType: 'complete',
        content: [{ type: 'text', text: 'from the cache' }],
      });
    }
  });
});

describe('a limit on open tasks', () => {
  it('is an error for the one call too many, and the server goes on', async () => {
    const { peer } = serve((tasks) => tasks.registerTool('slow', {}, never), {
      tasks: { maxOpenTasksPerPrincipal: 2 },
    });
    const { taskId } = await peer.start('slow');
    await peer.start('slow');
    const { status, error } = await peer.call('slow');
    expect(status).toBe(200);
    expect(error).toEqual({
      code: -32603,
      message: 'too many open tasks: at most 2 per caller; wait until one is over, or cancel one',
    });
    await peer.cancel(taskId);
    await peer.start('slow');
  });
});
