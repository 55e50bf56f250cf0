import { describe, expect, it } from 'vitest';
import { RemoteProtocolError, RemoteRefusedError, RemoteUnreachableError } from '../../src/client/remote-errors.ts';
import type { Answer } from '../../src/core/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred, recordingLogger } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { aTask, fake } from './fake-server.ts';
import { atOnce, start, startTask } from './remotes.ts';

// Servers that nobody here wrote, with what they leave out and get wrong.

const result = { content: [{ type: 'text', text: 'ok' }] };
const modernHandle = (task: Json) => ({ result: { resultType: 'task', ...task } });
const legacyHandle = (task: unknown) => ({ result: { task } });

describe('a handle', () => {
  it.each([
    ['2026-07-28', legacyHandle(aTask())],
    ['2025-11-25', { result: aTask() }],
    ['2025-11-25', modernHandle(aTask())],
  ])('of another revision is none, on %s [C-003]', async (version, answer) => {
    const { remote, count } = await fake({ version, methods: { 'tools/call': () => answer } });
    await expect(start(remote, 'slow')).rejects.toThrow(RemoteProtocolError);
    expect(count('tools/call')).toBe(1);
    expect(count('tasks/get')).toBe(0);
  });

  it.each(['2026-07-28', '2025-11-25'])(
    'without an id that can be asked for is none, on %s [C-003]',
    async (version) => {
      for (const taskId of [undefined, '', 7, null]) {
        const task = aTask({ taskId });
        const methods = { 'tools/call': () => (version === '2026-07-28' ? modernHandle(task) : legacyHandle(task)) };
        const { remote, count } = await fake({ version, methods });
        await expect(start(remote, 'slow')).rejects.toThrow('taskId: expected a string that is not empty');
        expect(count('tools/call')).toBe(1);
        expect(count('tasks/get')).toBe(0);
      }
    },
  );

  it('says nothing of an end, even if the task is over: that is asked for', async () => {
    const methods = { 'tools/call': () => modernHandle(aTask({ status: 'completed', result })) };
    const { remote } = await fake({ methods });
    expect(await startTask(remote, 'slow')).not.toHaveProperty('outcome');
  });

  it('for a session that asked for none is refused', async () => {
    const methods = {
      'tools/list': () => ({ result: { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] } }),
      'tools/call': () => legacyHandle(aTask()),
    };
    const { remote } = await fake({ version: '2025-11-25', methods });
    await expect(start(remote, 'slow')).rejects.toThrow('nobody asked for a task');
  });
});

describe('a task', () => {
  it.each(['ttl', 'lastUpdatedAt', 'createdAt', 'pollInterval', 'statusMessage'])(
    'without %s is a task all the same, and one with more than is known [C-007]',
    async (left) => {
      const { [left]: _left, ...task } = aTask({ ttl: 1_000, pollInterval: 5, statusMessage: 'x', colour: 'red' });
      const methods = { 'tools/call': () => legacyHandle(task), 'tasks/get': () => ({ result: task }) };
      const { remote } = await fake({ version: '2025-11-25', methods });
      const { taskId } = await startTask(remote, 'slow');
      expect(await remote.get(taskId)).toMatchObject({ taskId, status: 'working' });
    },
  );

  it('has no time to live and no interval where those are nonsense [C-007]', async () => {
    const task = aTask({ ttlMs: 'long', pollIntervalMs: -3, lastUpdatedAt: 'yesterday' });
    const { remote } = await fake({ methods: { 'tools/call': () => modernHandle(task) } });
    expect(await startTask(remote, 'slow')).toEqual({ taskId: 't-1', status: 'working', questions: new Map() });
  });

  it.each(['2026-07-28', '2025-11-25'])('of a status nobody has heard of is not over, on %s', async (version) => {
    const methods = { 'tasks/get': () => ({ result: aTask({ status: 'paused' }) }) };
    const { remote } = await fake({ version, methods });
    const task = await remote.get('t-1');
    expect(task.status).toBe('unheard_of');
    expect(task).not.toHaveProperty('outcome');
  });

  it.each(['2026-07-28', '2025-11-25'])(
    'that is another one than was asked for breaks the protocol, on %s',
    async (version) => {
      const { remote } = await fake({
        version,
        methods: { 'tasks/get': () => ({ result: aTask({ taskId: 't-2' }) }) },
      });
      await expect(remote.get('t-1')).rejects.toThrow(RemoteProtocolError);
    },
  );

  it('that asks something else under the same key is given up, and cancelled', async () => {
    let asks = 'Go?';
    const methods = {
      'tasks/get': () => ({
        result: aTask({
          status: 'input_required',
          inputRequests: { q: { method: 'elicitation/create', params: { message: asks, requestedSchema: {} } } },
        }),
      }),
      'tasks/cancel': () => ({ result: {} }),
    };
    const { remote, count } = await fake({ methods });
    expect((await remote.get('t-1')).questions.get('q')).toMatchObject({ kind: 'form', message: 'Go?' });
    expect((await remote.get('t-1')).questions.size).toBe(1);
    asks = 'Delete everything?';
    await expect(remote.get('t-1')).rejects.toThrow('asks something else than before');
    expect(count('tasks/cancel')).toBe(1);
  });
});

describe('a result', () => {
  it('without a word for its kind is complete; with an unknown word it is none [G3-C-04]', async () => {
    let resultType: string | undefined;
    const { remote } = await fake({ methods: { 'tools/call': () => ({ result: { ...result, resultType } }) } });
    expect(await atOnce(remote, 'slow')).toEqual({ status: 'completed', result });
    resultType = 'partial';
    await expect(start(remote, 'slow')).rejects.toThrow(RemoteProtocolError);
  });

  it('that is a task is one only of a call [G3-C-03]', async () => {
    const { remote } = await fake({ methods: { 'tasks/get': () => modernHandle(aTask()) } });
    await expect(remote.get('t-1')).rejects.toThrow('only calls of tools become tasks');
  });

  it('that comes at once, though a task was asked for, is the result', async () => {
    const { remote, sent } = await fake({ version: '2025-11-25', methods: { 'tools/call': () => ({ result }) } });
    expect(await atOnce(remote, 'slow')).toEqual({ status: 'completed', result });
    expect(sent.find(({ method }) => method === 'tools/call')?.params).toMatchObject({ task: {} });
  });

  it.each([
    ['filed as completed', 'completed', { result: { ...result, isError: true } }],
    ['filed as failed', 'failed', { result: { ...result, isError: true } }],
  ])('with isError is handed over whole, %s [C-002]', async (_how, status, answer) => {
    const methods = { 'tasks/get': () => ({ result: aTask({ status }) }), 'tasks/result': () => answer };
    const { remote } = await fake({ version: '2025-11-25', methods });
    expect(await remote.outcome('t-1')).toEqual({ status: 'completed', result: { ...result, isError: true } });
  });

  it('that is an error is one of the task, also under the code for a task that is not there [C-002]', async () => {
    const error = { code: -32602, message: 'bad frame', data: { frame: 7 } };
    const methods = {
      'tasks/get': () => ({ result: aTask({ status: 'failed' }) }),
      'tasks/result': () => ({ error }),
    };
    const { remote } = await fake({ version: '2025-11-25', methods });
    expect(await remote.outcome('t-1')).toEqual({ status: 'failed', error });
  });

  it('that a server has not kept of a cancelled task is a cancel', async () => {
    const methods = {
      'tasks/get': () => ({ result: aTask({ status: 'cancelled', statusMessage: 'quota' }) }),
      'tasks/result': () => ({ error: { code: -32603, message: 'Task t-1 has no result stored' } }),
    };
    const { remote } = await fake({ version: '2025-11-25', methods });
    expect(await remote.outcome('t-1')).toEqual({ status: 'cancelled', reason: 'quota' });
  });
});

describe('a server that wants tasks declared', () => {
  const required = { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
  const declares = ({ _meta }: Json): boolean =>
    JSON.stringify(_meta).includes('"extensions":{"io.modelcontextprotocol/tasks":{}}');

  it.each([-32021, -32003])('by %d is told of them, once', async (code) => {
    const { remote, sent } = await fake({
      capabilities: { tools: {} },
      methods: {
        'tools/call': (params) =>
          declares(params) ? modernHandle(aTask()) : { error: { code, message: 'no', data: required } },
      },
    });
    expect(remote.revision).toBe('none');
    expect(await startTask(remote, 'slow')).toMatchObject({ taskId: 't-1' });
    expect(remote.revision).toBe('2026-07-28');
    expect(sent.filter(({ method }) => method === 'tools/call').map(({ params }) => declares(params))).toEqual([
      false,
      true,
    ]);
  });

  it('and refuses all the same is not asked a third time', async () => {
    const methods = { 'tools/call': () => ({ error: { code: -32021, message: 'no', data: required } }) };
    const { remote, count } = await fake({ capabilities: { tools: {} }, methods });
    await expect(start(remote, 'slow')).rejects.toThrow(RemoteRefusedError);
    expect(count('tools/call')).toBe(2);
  });

  it('says so with its data, or it means something else', async () => {
    const methods = { 'tools/call': () => ({ error: { code: -32003, message: 'locked' } }) };
    const { remote, count } = await fake({ capabilities: { tools: {} }, methods });
    await expect(start(remote, 'slow')).rejects.toThrow('locked');
    expect(count('tools/call')).toBe(1);
  });

  it('declares them on every request about tasks [G3-C-01] [G3-C-16]', async () => {
    const asking = { q: { method: 'roots/list' } };
    const { remote, sent } = await fake({
      abilities: { form: true, roots: true },
      methods: {
        'tools/call': () => modernHandle(aTask()),
        'tasks/get': () => ({ result: aTask({ status: 'input_required', inputRequests: asking }) }),
        'tasks/update': () => ({ result: { resultType: 'complete' } }),
        'tasks/cancel': () => ({ result: { resultType: 'complete' } }),
      },
    });
    await startTask(remote, 'slow');
    const roots: Answer = { action: 'accept', content: { roots: [] } };
    await remote.answer(
      't-1',
      new Map([
        ['q', roots],
        ['nobody asked', roots],
      ]),
    );
    await remote.cancel('t-1');
    const about = sent.filter(({ method }) => method !== 'server/discover');
    expect(about.map(({ method }) => method)).toEqual(['tools/call', 'tasks/get', 'tasks/update', 'tasks/cancel']);
    for (const { params } of about) {
      expect(params['_meta']).toMatchObject({
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'longcall' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, roots: {}, extensions: {} },
      });
      expect(declares(params)).toBe(true);
    }
    expect(about[2]?.params['inputResponses']).toEqual({ q: { roots: [] } });
  });
});

describe('headers', () => {
  it('name the task, whatever its id is made of [G3-C-20] [G3-C-21] [G3-C-22] [C-012]', async () => {
    const { remote, sent } = await fake({
      methods: {
        'tasks/get': ({ taskId }) => ({ result: aTask({ taskId }) }),
        'tasks/cancel': () => ({ result: {} }),
      },
    });
    const encoded = (taskId: string) => `=?base64?${Buffer.from(taskId).toString('base64')}?=`;
    for (const [taskId, header] of [
      ['plain-1', 'plain-1'],
      ['ein Täsk', encoded('ein Täsk')],
      [' led', encoded(' led')],
      [encoded('x'), encoded(encoded('x'))],
    ] as const) {
      await remote.get(taskId);
      await remote.cancel(taskId);
      for (const { headers, method } of sent.slice(-2)) {
        expect(headers.get('mcp-name')).toBe(header);
        expect(headers.get('mcp-method')).toBe(method);
        expect(headers.get('mcp-protocol-version')).toBe('2026-07-28');
        expect(headers.get('accept')).toMatch(/application\/json.*text\/event-stream/);
      }
    }
  });
});

describe('tools of 2025-11-25', () => {
  const tool = (taskSupport?: string) => ({
    name: 'slow',
    inputSchema: { type: 'object' },
    ...(taskSupport !== undefined && { execution: { taskSupport } }),
  });

  it.each([
    ['required', true],
    ['optional', true],
    ['forbidden', false],
    [undefined, false],
  ])('that say %s are called with a task: %s [G2-C-01] [G2-C-04] [G2-C-05] [G2-C-06]', async (support, asTask) => {
    const { remote, sent } = await fake({
      version: '2025-11-25',
      methods: { 'tools/list': () => ({ result: { tools: [tool(support)] } }), 'tools/call': () => ({ result }) },
    });
    await start(remote, 'slow');
    expect('task' in (sent.find(({ method }) => method === 'tools/call')?.params ?? {})).toBe(asTask);
  });

  it('of a server that stops one member short are called without, which is said once [C-013] [G2-C-02] [G2-C-03]', async () => {
    const { logger, lines } = recordingLogger();
    const { remote, sent } = await fake({
      version: '2025-11-25',
      capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: {} } } },
      methods: { 'tools/list': () => ({ result: { tools: [tool('required')] } }), 'tools/call': () => ({ result }) },
      logger,
    });
    expect(remote.revision).toBe('none');
    expect(await atOnce(remote, 'slow')).toEqual({ status: 'completed', result });
    await start(remote, 'slow');
    expect(sent.some(({ params }) => 'task' in params)).toBe(false);
    expect(lines.map(({ message }) => message)).toEqual([expect.stringContaining('not tasks.requests.tools.call')]);
  });

  it.each([-32600, -32601])('that changed their mind, told by %d, are called once more [C-016]', async (code) => {
    let support = 'forbidden';
    const { remote, count } = await fake({
      version: '2025-11-25',
      methods: {
        'tools/list': () => ({ result: { tools: [tool(support)] } }),
        'tools/call': (params) =>
          'task' in params ? legacyHandle(aTask()) : { error: { code, message: 'task only' } },
      },
    });
    await expect(start(remote, 'slow')).rejects.toThrow('task only');
    expect(count('tools/call')).toBe(1);
    support = 'required';
    expect(await startTask(remote, 'slow')).toMatchObject({ taskId: 't-1' });
    expect(count('tools/call')).toBe(3);
  });
});

describe('a server that has no time', () => {
  it.each([
    [429, '7', 7_000, false],
    [503, 'Thu, 01 Jan 2026 00:00:20 GMT', 20_000, true],
    [502, null, undefined, true],
  ])('says so by %d, and for how long by %s', async (status, header, retryAfterMs, mayHaveRun) => {
    const busy = () => new Response('busy', { status, ...(header !== null && { headers: { 'retry-after': header } }) });
    const { remote } = await fake({ methods: { 'tools/call': busy, 'tasks/get': busy }, clock: new ManualClock() });
    for (const attempt of [start(remote, 'slow'), remote.get('t-1')]) {
      const error = await attempt.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RemoteUnreachableError);
      expect(error).toMatchObject({ retryAfterMs, mayHaveRun });
    }
  });

  it('or in an error of the protocol', async () => {
    const error = { code: -32603, message: 'too many polls', data: { retryAfterMs: 1_500 } };
    const { remote } = await fake({ methods: { 'tasks/get': () => ({ error }) } });
    await expect(remote.get('t-1')).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE', retryAfterMs: 1_500 });
  });

  it('and answers nothing is not waited for', async () => {
    const clock = new ManualClock();
    const never = deferred<Response>();
    const asked = deferred();
    const methods = {
      'tasks/get': () => {
        asked.resolve();
        return never.promise;
      },
    };
    const { remote } = await fake({ methods, clock, requestTimeoutMs: 5_000 });
    const got = remote.get('t-1').catch((error: unknown) => error);
    await asked.promise;
    clock.advance(5_000);
    expect(await got).toMatchObject({ code: 'REMOTE_UNREACHABLE', mayHaveRun: true });
    never.resolve(new Response(null, { status: 202 }));
  });
});

describe('a refusal', () => {
  it('under an HTTP status of its own keeps its code', async () => {
    const error = { code: -32601, message: 'Method not found' };
    const { remote } = await fake({ methods: { 'tools/call': () => Response.json({ error }, { status: 404 }) } });
    await expect(start(remote, 'slow')).rejects.toMatchObject({ code: 'REMOTE_REFUSED', rpcCode: -32601 });
  });

  it('is told from what the tool itself failed with', async () => {
    const error = { code: -32050, message: 'out of paper', data: { tray: 2 } };
    const { remote } = await fake({ methods: { 'tools/call': () => ({ error }) } });
    expect(await atOnce(remote, 'slow')).toEqual({ status: 'failed', error });
  });
});
