import { createMcpHandler, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTasks, type Tasks, text } from '../../src/engine/index.ts';
import { createTaskHandler } from '../../src/server/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import type { Json } from '../support/messages.ts';
import { silent } from '../support/stores.ts';
import { Peer, serve, validated } from './peer.ts';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const extension = { extensions: { [EXTENSION]: {} } };
const missing = { requiredCapabilities: { extensions: { [EXTENSION]: {} } } };

function tools(tasks: Tasks): void {
  const inputSchema = z.object({ n: z.number() });
  tasks.registerTool('optional', { inputSchema }, ({ n }) => text(`${n}`));
  tasks.registerTool('required', { inputSchema, task: { support: 'required' } }, ({ n }) => text(`${n}`));
  tasks.registerTool('forbidden', { inputSchema, task: { support: 'forbidden' } }, ({ n }) => text(`${n}`));
}

/** What a peer sees of a call: a task, or the text of the result. */
function outcome({ result }: { result: Json }): unknown {
  if (result['resultType'] === 'task') return 'task';
  return (result['content'] as { text: string }[])[0]?.text;
}

describe('a call', () => {
  it('becomes a task by what this very request declares, and nothing else [G3-S-02] [G3-S-72]', async () => {
    const { peer } = serve(tools);
    const answers = async (capabilities: Json) => ({
      optional: outcome(await peer.call('optional', { n: 1 }, { capabilities })),
      forbidden: outcome(await peer.call('forbidden', { n: 1 }, { capabilities })),
    });
    expect(await answers(extension)).toEqual({ optional: 'task', forbidden: '1' });
    expect(await answers({})).toEqual({ optional: '1', forbidden: '1' });
    expect(await answers({ elicitation: {} })).toEqual({ optional: '1', forbidden: '1' });
    expect(await answers({ extensions: { [EXTENSION]: { later: { setting: 1 } } } })).toMatchObject({
      optional: 'task',
    });
  });

  it('is served by its own declaration among 100 at once, with and without [G3-S-03] [G3-S-76] [C-017]', async () => {
    const { peer } = serve(tools);
    const declares = (n: number) => n % 2 === 0;
    const calls = Array.from({ length: 100 }, (_, n) =>
      peer.call('optional', { n }, { capabilities: declares(n) ? extension : {} }),
    );
    const outcomes = (await Promise.all(calls)).map(outcome);
    expect(outcomes).toEqual(outcomes.map((_, n) => (declares(n) ? 'task' : `${n}`)));
  });

  it.each([
    ['the capability of 2025-11-25', { tasks: { requests: { tools: { call: {} } }, cancel: {}, list: {} } }],
    ['another extension', { extensions: { 'example.com/tasks': {} } }],
    ['the extension as an experiment', { experimental: { [EXTENSION]: {} } }],
  ])('is answered inline when it declares only %s [G3-S-03] [G3-S-66]', async (_, capabilities) => {
    const { peer } = serve(tools);
    expect(outcome(await peer.call('optional', { n: 1 }, { capabilities }))).toBe('1');
    const { status, error } = await peer.call('required', { n: 1 }, { capabilities });
    expect({ status, code: error.code }).toEqual({ status: 400, code: -32021 });
  });

  it('is not made a task, nor refused, by the `task` of 2025-11-25 [G3-S-64]', async () => {
    const { peer } = serve(tools);
    const call = (name: string, capabilities: Json, task: unknown) =>
      peer.send('tools/call', { name, arguments: { n: 1 }, task }, { capabilities });
    for (const task of [{}, { ttl: 60_000 }, { ttl: 'soon' }, null, 'yes']) {
      expect(outcome(await call('optional', {}, task))).toBe('1');
      expect(outcome(await call('forbidden', extension, task))).toBe('1');
      expect(outcome(await call('optional', extension, task))).toBe('task');
    }
    expect((await call('required', {}, {})).error.code).toBe(-32021);
  });

  it('is not made a task by the keys of other generations in its _meta', async () => {
    const { peer } = serve(tools);
    const meta = {
      'modelcontextprotocol.io/task': { taskId: 'mine' },
      'io.modelcontextprotocol/related-task': { taskId: 'x' },
    };
    expect(outcome(await peer.call('optional', { n: 1 }, { capabilities: {}, meta }))).toBe('1');
    const handle = await peer.start('optional', { n: 1 }, { meta });
    expect(handle.taskId).not.toBe('mine');
  });

  it.each<[string, Json, string]>([
    ['tools/list', { cursor: 5 }, 'params.cursor: '],
    ['resources/read', { uri: [] }, 'params.uri: '],
    ['tools/call', { name: {}, arguments: 'x' }, 'params.name: '],
  ])('to %s whose params make no sense is told what was expected where', async (method, params, message) => {
    const { peer } = serve(tools);
    const { error } = await peer.send(method, params, { headers: { 'mcp-name': undefined } });
    expect(error).toEqual({ code: -32602, message: expect.stringContaining(message) });
    expect(error.message).not.toContain('{');
  });

  it('of a tool that runs only as a task is refused, saying what to enable [G3-S-04] [G3-S-05] [G3-S-51] [G3-S-78] [C-015]', async () => {
    const { peer } = serve(tools);
    const { status, error } = await peer.call('required', { n: 1 }, { capabilities: {} });
    expect({ status, error }).toEqual({
      status: 400,
      error: {
        code: -32021,
        message:
          "tool required requires the tasks extension; declare io.modelcontextprotocol/tasks in this request's client capabilities",
        data: missing,
      },
    });
    expect(await peer.start('required', { n: 1 })).toMatchObject({ status: 'working' });
  });

  it('is told of the capability it lacks before its arguments are looked at', async () => {
    const { peer } = serve(tools);
    expect((await peer.call('required', { n: 'one' }, { capabilities: {} })).error.code).toBe(-32021);
    expect((await peer.call('required', { n: 'one' })).result).toMatchObject({ isError: true });
    const { error, status } = await peer.call('no such tool', { n: 'one' }, { capabilities: {} });
    expect({ status, code: error.code }).toEqual({ status: 200, code: -32602 });
  });
});

describe('requests other than calls', () => {
  it('are never answered with a task [G3-S-06] [G3-S-09]', async () => {
    const tasks = createTasks({ store: sqliteStore(':memory:'), logger: silent, clock: new ManualClock() });
    tools(tasks);
    const handler = createTaskHandler(tasks, () => {
      const mcp = new McpServer({ name: 'mine', version: '1.0.0' });
      mcp.registerPrompt('ask', {}, () => ({ messages: [] }));
      const template = new ResourceTemplate('test://{name}', { list: undefined });
      mcp.registerResource('file', template, {}, (uri) => ({ contents: [{ uri: uri.href, text: 'x' }] }));
      return mcp;
    });
    const peer = new Peer((request) => handler.fetch(request), validated());
    for (const [method, params, name] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['prompts/list', {}],
      ['prompts/get', { name: 'ask' }],
      ['resources/read', { uri: 'test://a' }, 'test://a'],
    ] as const) {
      const { result } = await peer.send(method, params, name === undefined ? {} : { headers: { 'mcp-name': name } });
      expect({ method, type: result['resultType'] }).toEqual({ method, type: 'complete' });
    }
    await handler.close();
    await tasks.close();
  });
});

describe.each([['tasks/get'], ['tasks/update'], ['tasks/cancel']])('%s without the capability', (method) => {
  const send = (peer: Peer, taskId: string, capabilities: Json) =>
    peer.post({ ...peer.request(method, { taskId, inputResponses: {} }, { capabilities }), id: 1 });

  it('is refused before the id is looked at [G3-S-50] [G3-S-78] [C-014]', async () => {
    const { peer, clock } = serve(tools);
    const { taskId } = await peer.start('optional', { n: 1 });
    const before = (await peer.get(taskId)).result;
    clock.advance(5);
    const bodies = new Set<string>();
    for (const id of [taskId, 'unknown', '', 'x'.repeat(2_000)]) {
      for (const capabilities of [{}, { elicitation: {} }, { tasks: {} }]) {
        const { status, body, error } = await send(peer, id, capabilities);
        expect({ status, code: error.code, data: error.data }).toEqual({ status: 400, code: -32021, data: missing });
        bodies.add(body);
      }
    }
    expect(bodies.size).toBe(1);
    expect((await peer.get(taskId)).result).toEqual(before);
  });

  it('is refused before the params are looked at [G3-S-50]', async () => {
    const { peer } = serve(tools);
    const { error } = await peer.send(method, {}, { capabilities: {} });
    expect(error.code).toBe(-32021);
    expect((await peer.send(method, {})).error).toEqual({ code: -32602, message: 'params.taskId: expected a string' });
  });

  it('is refused though the same client declared it a moment ago [G3-S-76] [C-014]', async () => {
    const { peer } = serve(tools);
    const { taskId } = await peer.start('optional', { n: 1 });
    expect((await send(peer, taskId, extension)).error).toBeUndefined();
    expect((await send(peer, taskId, {})).error.code).toBe(-32021);
  });
});

describe('a server without tasks', () => {
  it('knows none of the methods [C-014]', async () => {
    const handler = createMcpHandler(() => new McpServer({ name: 'plain', version: '1.0.0' }));
    const peer = new Peer((request) => handler.fetch(request), validated());
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { status, error } = await peer.send(method, { taskId: 'x', inputResponses: {} });
      expect({ status, code: error.code }).toEqual({ status: 404, code: -32601 });
    }
    await handler.close();
  });
});

describe('methods of other generations', () => {
  it.each([
    ['tasks/result', { taskId: 'x' }],
    ['tasks/list', {}],
    ['tasks/delete', { taskId: 'x' }],
    ['tasks/pause', { taskId: 'x' }],
    ['notifications/tasks/created', {}],
  ])(
    '%s does not exist, with the capability or without [G3-S-61] [G3-S-62] [G3-S-63] [G3-S-80]',
    async (method, params) => {
      const { peer } = serve(tools);
      for (const capabilities of [extension, {}, { tasks: { list: {}, cancel: {} } }]) {
        const { status, error } = await peer.send(method, params, { capabilities });
        expect({ status, code: error.code }).toEqual({ status: 404, code: -32601 });
      }
    },
  );
});
