import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { text } from '../../src/engine/index.ts';
import type { Json } from '../support/messages.ts';
import { headerValue, type Peer, type Reply, serve } from './peer.ts';

const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

async function aTask() {
  const served = serve((tasks) => {
    tasks.registerTool('slow', {}, () => new Promise(() => {}));
    tasks.registerTool('quick', { task: { support: 'forbidden' } }, () => text('done'));
    tasks.registerTool('deep', { inputSchema: z.object({ deep: z.unknown() }) }, () => text('done'));
  });
  const { taskId } = await served.peer.start('slow');
  /** That a refused request changed nothing. */
  const untouched = async () => expect((await served.peer.get(taskId)).result['status']).toBe('working');
  return { ...served, taskId, untouched };
}

const verdict = ({ status, error }: Reply) => ({ status, code: error?.code });

describe.each(['tasks/get', 'tasks/update', 'tasks/cancel'])('the headers of %s', (method) => {
  const params = (taskId: string) => ({ taskId, inputResponses: {} });
  const send = (peer: Peer, taskId: string, headers: Record<string, string | undefined>) =>
    peer.send(method, params(taskId), { headers });

  it.each<[string, (taskId: string) => Record<string, string | undefined>]>([
    ['no name', () => ({ 'mcp-name': undefined })],
    ['an empty name', () => ({ 'mcp-name': '' })],
    ["another task's name", () => ({ 'mcp-name': 'tsk_other' })],
    ['the name percent-encoded', (taskId) => ({ 'mcp-name': taskId.replace('_', '%5F') })],
    ['another name in Base64', () => ({ 'mcp-name': headerValue('ünknown') })],
    ['Base64 that is none', () => ({ 'mcp-name': '=?base64?@@@?=' })],
    ['no method', () => ({ 'mcp-method': undefined })],
    ['another method', () => ({ 'mcp-method': 'tools/list' })],
    ['no version', () => ({ 'mcp-protocol-version': undefined })],
    ['another version', () => ({ 'mcp-protocol-version': '2025-11-25' })],
    ['a version that is none', () => ({ 'mcp-protocol-version': 'latest' })],
  ])('with %s are refused before the task is touched [G3-S-81] [C-012]', async (_, headers) => {
    const { peer, taskId, untouched } = await aTask();
    expect(verdict(await send(peer, taskId, headers(taskId)))).toEqual({ status: 400, code: -32020 });
    await untouched();
  });

  it('may carry the id in Base64, whatever is in it [G3-S-82] [C-012]', async () => {
    const { peer, taskId } = await aTask();
    const encoded = `=?base64?${Buffer.from(taskId).toString('base64')}?=`;
    expect(verdict(await send(peer, taskId, { 'mcp-name': encoded }))).toEqual({ status: 200, code: undefined });
    for (const id of ['Zürich ☃', ' padded ', '=?base64?eA==?=', 'a\tb']) {
      expect(verdict(await send(peer, id, { 'mcp-name': headerValue(id) }))).toEqual({ status: 200, code: -32602 });
    }
    // The sentinel inside a body is plain text: it is not decoded there, and so names another id.
    expect(verdict(await send(peer, encoded, { 'mcp-name': encoded }))).toEqual({ status: 400, code: -32020 });
  });
});

describe('the headers of a call', () => {
  it('name the tool, in Base64 where the client likes [G3-S-81] [G3-S-82]', async () => {
    const { peer } = await aTask();
    const call = (name: string | undefined) => peer.call('quick', {}, { headers: { 'mcp-name': name } });
    for (const name of ['quick', '=?base64?cXVpY2s=?=']) {
      expect((await call(name)).result).toMatchObject({ content: [{ text: 'done' }] });
    }
    for (const name of [undefined, 'slow', 'Quick', headerValue('quïck')]) {
      expect(verdict(await call(name))).toEqual({ status: 400, code: -32020 });
    }
  });

  it('may be spelled in any case', async () => {
    const { peer, taskId } = await aTask();
    const message = peer.request('tasks/get', { taskId });
    const headers = {
      'MCP-PROTOCOL-VERSION': '2026-07-28',
      'MCP-METHOD': 'tasks/get',
      'MCP-NAME': taskId,
      'CONTENT-TYPE': 'Application/JSON; charset=utf-8',
    };
    const { status } = await peer.postText(JSON.stringify(message), {
      headers: { 'content-type': undefined, ...headers },
    });
    expect(status).toBe(200);
  });
});

/** A list in a list in a list, as text: nothing that builds JSON would go as deep. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('a message that is nested', () => {
  const send = async (levels: number, method: string, params: Json) => {
    const { peer, untouched } = await aTask();
    const message = peer.request(method, params);
    const body = JSON.stringify(message).replace('"HERE"', nested(levels));
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params['name'] as string,
    };
    const reply = await peer.postText(body, { headers });
    await untouched();
    return { reply, message };
  };

  it.each<[string, string, Json]>([
    ['the arguments', 'tools/call', { name: 'deep', arguments: { deep: 'HERE' } }],
    ['the answers', 'tasks/update', { taskId: 'x', inputResponses: 'HERE' }],
    ['the task id', 'tasks/get', { taskId: 'HERE' }],
    ['what nobody asked for', 'tools/list', { more: 'HERE' }],
  ])('in %s, deeper than anybody needs, is refused, and changes nothing', async (_, method, params) => {
    for (const levels of [10_000, 100_000]) {
      const { reply, message } = await send(levels, method, params);
      expect(reply).toMatchObject({ status: 400, message: { id: message['id'], error: { code: -32600 } } });
      expect(reply.error.message).toBe('Invalid Request: nested more than 1000 levels deep');
    }
  });

  it('in its capabilities too', async () => {
    const { peer } = await aTask();
    const message = peer.request('tools/list', {}, { capabilities: { extensions: { deep: 'HERE' } } });
    const body = JSON.stringify(message).replace('"HERE"', nested(10_000));
    const reply = await peer.postText(body, {
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    });
    expect(verdict(reply)).toEqual({ status: 400, code: -32600 });
  });

  it('is served down to a depth that nobody needs', async () => {
    const { reply } = await send(900, 'tools/call', { name: 'deep', arguments: { deep: 'HERE' } });
    expect(reply.result).toMatchObject({ resultType: 'task', status: 'working' });
  });
});

describe('the _meta of a request', () => {
  const complete = { [PROTOCOL_VERSION]: '2026-07-28', [CAPABILITIES]: {} };
  const post = (peer: Peer, method: string, params: unknown) => peer.post({ jsonrpc: '2.0', id: 7, method, params });

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['empty', {}],
    ['null', null],
    ['a string', 'x'],
    ['an array', []],
    ['without capabilities', { [PROTOCOL_VERSION]: '2026-07-28' }],
    ['without a version', { [CAPABILITIES]: {} }],
    ['with a version that is no string', { ...complete, [PROTOCOL_VERSION]: 5 }],
    ['with capabilities that are null', { ...complete, [CAPABILITIES]: null }],
    ['with capabilities that are an array', { ...complete, [CAPABILITIES]: [] }],
    ['with extensions that are an array', { ...complete, [CAPABILITIES]: { extensions: [] } }],
    [
      'with an extension that is no object',
      { ...complete, [CAPABILITIES]: { extensions: { 'io.modelcontextprotocol/tasks': true } } },
    ],
    ['with elicitation that is a string', { ...complete, [CAPABILITIES]: { elicitation: 'form' } }],
  ])('%s is refused as -32602 or -32600, and nothing happens [G3-S-77]', async (_, _meta) => {
    const { peer, taskId, untouched } = await aTask();
    for (const [method, params] of [
      ['server/discover', {}],
      ['tools/list', {}],
      ['tools/call', { name: 'slow', arguments: {} }],
      ['tasks/get', { taskId }],
      ['tasks/cancel', { taskId }],
    ] as const) {
      const { status, code } = verdict(await post(peer, method, { ...params, ...(_meta !== undefined && { _meta }) }));
      expect({ method, status, code }).toEqual({ method, status: 400, code: expect.toBeOneOf([-32602, -32600]) });
    }
    await untouched();
  });

  it('missing is refused as -32602, also without params [G3-S-77]', async () => {
    const { peer } = await aTask();
    for (const params of [undefined, {}]) {
      expect(verdict(await post(peer, 'tools/list', params))).toEqual({ status: 400, code: -32602 });
    }
  });
});

describe('a version that is not spoken', () => {
  it.each(['2099-01-01', '2026-06-30', 'latest', ''])(
    '%j is refused with those that are [G3-S-79]',
    async (version) => {
      const { peer, untouched } = await aTask();
      const message = peer.request('tools/list', {});
      (message['params'] as { _meta: Json })._meta[PROTOCOL_VERSION] = version;
      const { status, error } = await peer.post(message, { headers: { 'mcp-protocol-version': version } });
      expect(status).toBe(400);
      expect(error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested: version } });
      await untouched();
    },
  );
});

describe('errors', () => {
  it('are checked for in the order of the stages a request goes through [G3-S-50] [G3-S-79] [G3-S-80] [G3-S-81]', async () => {
    const { peer, taskId } = await aTask();
    const message = (method: string, params: Json, meta: Json) => ({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, _meta: meta },
    });
    const ask = async (method: string, params: Json, meta: Json, headers = {}) =>
      verdict(await peer.post(message(method, params, meta), { headers }));
    const meta = { [PROTOCOL_VERSION]: '2026-07-28', [CAPABILITIES]: {} };
    const otherVersion = { ...meta, [PROTOCOL_VERSION]: '2099-01-01' };
    const wrongMethod = { 'mcp-method': 'tools/list' };
    // Each line has the fault of the next line, too.
    expect(await ask('tasks/bogus', {}, { ...meta, [CAPABILITIES]: 5 }, wrongMethod)).toMatchObject({ status: 400 });
    expect(await ask('tasks/bogus', {}, meta, wrongMethod)).toEqual({ status: 400, code: -32020 });
    expect(await ask('tasks/bogus', {}, otherVersion, { 'mcp-protocol-version': '2099-01-01' })).toEqual({
      status: 400,
      code: -32022,
    });
    expect(await ask('tasks/bogus', {}, meta)).toEqual({ status: 404, code: -32601 });
    expect(await ask('tasks/get', { taskId: 5 }, meta)).toEqual({ status: 400, code: -32021 });
    const declared = { ...meta, [CAPABILITIES]: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
    expect(await ask('tasks/get', { taskId: 5 }, declared)).toEqual({ status: 200, code: -32602 });
    expect(await ask('tasks/get', { taskId: 'unknown' }, declared)).toEqual({ status: 200, code: -32602 });
    expect(await ask('tasks/get', { taskId }, declared)).toEqual({ status: 200, code: undefined });
  });

  it('of a method nobody knows are -32601 with 404, declared or not [G3-S-80]', async () => {
    const { peer } = await aTask();
    for (const method of ['tasks/pause', 'foo', 'constructor', 'initialize/']) {
      for (const capabilities of [{}, { extensions: { 'io.modelcontextprotocol/tasks': {} } }]) {
        expect(verdict(await peer.send(method, {}, { capabilities }))).toEqual({ status: 404, code: -32601 });
      }
    }
  });
});

describe('a body', () => {
  it.each<[string, string]>([
    ['is no JSON', '{"jsonrpc":"2.0",'],
    ['is empty', ''],
    ['is no object', '5'],
    ['is null', 'null'],
    ['is a string', '"tasks/get"'],
    ['is an empty batch', '[]'],
    ['has no method', '{"jsonrpc":"2.0","id":1,"params":{}}'],
    ['is of no version', '{"id":1,"method":"tools/list"}'],
    ['is of another version', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}'],
    ['has an id of null', '{"jsonrpc":"2.0","id":null,"method":"tools/list"}'],
    ['has an id that is no integer', '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}'],
    ['has an object for an id', '{"jsonrpc":"2.0","id":{},"method":"tools/list"}'],
    ['has an array for params', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}'],
    ['is deeply nested', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ])('that %s is refused, and the server goes on', async (_, body) => {
    const { peer, untouched } = await aTask();
    const reply = await peer.postText(body, {
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    });
    expect(verdict(reply)).toEqual({ status: 400, code: expect.toBeOneOf([-32700, -32600, -32602]) });
    expect(reply.body).not.toMatch(/\.ts|node_modules|"id":(null|1\.5|\{)/);
    await untouched();
  });

  it('that is a batch is refused, and none of it is done', async () => {
    const { peer, taskId, untouched } = await aTask();
    const cancel = peer.request('tasks/cancel', { taskId });
    const reply = await peer.postText(JSON.stringify([cancel, cancel]), {
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tasks/cancel', 'mcp-name': taskId },
    });
    expect(verdict(reply)).toEqual({ status: 400, code: -32600 });
    await untouched();
  });

  it.each([
    ['by what it says', true],
    ['by what comes', false],
  ])('that is too large, %s, is refused with 413, and one that just fits is not', async (_, announced) => {
    const { peer } = serve(
      (tasks) => tasks.registerTool('tool', { task: { support: 'forbidden' } }, () => text('done')),
      {
        server: { maxRequestBytes: 2_000 },
      },
    );
    const sized = (bytes: number) => {
      const message = peer.request('tools/call', { name: 'tool', arguments: { pad: '' } });
      const missing = bytes - Buffer.byteLength(JSON.stringify(message));
      return JSON.stringify(message).replace('"pad":""', `"pad":"${'x'.repeat(missing)}"`);
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'tool' };
    const post = (body: string) =>
      peer.postText(body, { headers: { ...headers, ...(announced && { 'content-length': String(body.length) }) } });
    expect((await post(sized(2_000))).status).toBe(200);
    const { status, error, body } = await post(sized(2_001));
    expect({ status, error }).toEqual({
      status: 413,
      error: { code: -32000, message: expect.stringContaining('2000') },
    });
    expect(body).not.toContain('"id"');
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])(
    'that is %s is refused with 415',
    async (type) => {
      const { peer, taskId, untouched } = await aTask();
      const { status } = await peer.cancel(taskId, { headers: { 'content-type': type ?? '' } });
      expect(status).toBe(415);
      await untouched();
    },
  );
});

describe('what is no request', () => {
  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s is refused with 405, naming what is allowed', async (method) => {
    const { peer } = await aTask();
    const headers = { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' };
    const response = await peer.fetch(new Request('http://127.0.0.1/mcp', { method, headers }));
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32000, message: expect.any(String) } });
  });

  it('a notification is taken without an answer, and cancels no task [G3-S-88]', async () => {
    const { peer, taskId, untouched } = await aTask();
    for (const requestId of [1, 2, taskId]) {
      const params = { requestId, _meta: { [PROTOCOL_VERSION]: '2026-07-28', [CAPABILITIES]: {} } };
      const { status, body } = await peer.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
      expect({ status, body }).toEqual({ status: 202, body: '' });
    }
    await untouched();
  });

  it('an answer is refused: nobody asked [G3-S-87]', async () => {
    const { peer } = await aTask();
    const { status } = await peer.post({ jsonrpc: '2.0', id: 1, result: {} });
    expect(status).toBe(400);
  });
});
