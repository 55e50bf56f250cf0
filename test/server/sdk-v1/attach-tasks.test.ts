import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type Tasks, text } from '../../../src/engine/index.ts';
import { type AttachTasksOptions, attachTasks } from '../../../src/server/sdk-v1/index.ts';
import { settle, someTasks } from '../../support/engine.ts';
import type { Json } from '../../support/messages.ts';
import { LegacyPeer } from '../legacy-peer.ts';
import { closing, serve, validated } from '../peer.ts';

const info = { name: 'own', version: '1.0.0' };
const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {}, tasks: {} };
/** The client sleeps by a clock of its own. */
const fast = { task: { pollIntervalMs: 20 } };
const content = (said: string) => ({ content: [{ type: 'text', text: said }] });

/** A server with things of its own, and tasks beside them, in memory with a client of the SDK. */
async function connected(
  register: (tasks: Tasks) => void,
  { own = () => {}, capabilities = everything, extended = false, ...options }: Setup & AttachTasksOptions = {},
) {
  const { tasks, clock } = someTasks();
  register(tasks);
  const mcp = new McpServer(info);
  own(mcp);
  attachTasks(mcp, tasks, options);
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities });
  const connect = async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await mcp.connect(theirs);
    await client.connect((extended ? ours : validated().tapTransport(ours as never)) as never);
  };
  onTestFinished(() => closing({ close: async () => Promise.all([client.close(), tasks.close()]) as never }, clock));
  await connect();
  return { tasks, mcp, client, clock, connect };
}

interface Setup {
  own?: (mcp: McpServer) => void;
  capabilities?: object;
  /** The server has methods that no revision knows, so its answers are not held against the rules of one. */
  extended?: boolean;
}

/** Calls a tool as a task, by the SDK's own API. */
async function outcome(client: Client, name: string, args: Json = {}) {
  const { tasks } = client.experimental;
  const stream = tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { task: {} });
  let last: unknown;
  for await (const message of stream) last = message.type === 'result' ? message.result : message;
  return last;
}

describe('attachTasks', () => {
  it('says what it needs', () => {
    const { tasks } = someTasks();
    const server = () => new McpServer(info);
    expect(() => attachTasks({} as McpServer, tasks)).toThrow(/server must be an McpServer of .*sdk 1\.x/);
    expect(() => attachTasks(server().server as never, tasks)).toThrow(/server must be an McpServer/);
    expect(() => attachTasks(server(), tasks, { isErrorStatus: 'done' as never })).toThrow(/isErrorStatus must be/);
    expect(() => attachTasks(server(), tasks, { fallback: { detachAfterMs: -1 } })).toThrow(/fallback\.detachAfterMs/);
  });

  it('comes before connect', async () => {
    const { tasks } = someTasks();
    const mcp = new McpServer(info);
    const [, theirs] = InMemoryTransport.createLinkedPair();
    await mcp.connect(theirs);
    expect(() => attachTasks(mcp, tasks)).toThrow(/connected already; call attachTasks before/);
  });

  it('refuses a server that has a task store: it would hide the tasks of one or the other', () => {
    const { tasks } = someTasks();
    const mcp = new McpServer(info, { capabilities: { tasks: {} }, taskStore: new InMemoryTaskStore() });
    expect(() => attachTasks(mcp, tasks)).toThrow(
      /answers tasks\/get by itself.*without taskStore.*tasks\.registerTool/,
    );
  });

  it('takes no tool away from the server', () => {
    const { tasks } = someTasks();
    tasks.registerTool('mine', {}, () => text('a task'));
    const mcp = new McpServer(info);
    mcp.registerTool('mine', {}, () => content('own') as never);
    expect(() => attachTasks(mcp, tasks)).toThrow(/mine is already registered/);
  });
});

describe('what the server has of its own', () => {
  const own = (mcp: McpServer): void => {
    mcp.registerTool('own', { inputSchema: { n: z.number() } }, ({ n }) => content(`own ${n}`) as never);
    mcp.registerTool('task_list', {}, () => content('my own list') as never);
    const template = new ResourceTemplate('file://{+path}', { list: undefined });
    mcp.registerResource('files', template, {}, (uri) => ({ contents: [{ uri: uri.href, text: 'a file' }] }));
    mcp.registerPrompt('hello', {}, () => ({ messages: [] }));
  };

  it('stays, and is served as before', async () => {
    const { client } = await connected((tasks) => tasks.registerTool('quick', {}, () => text('done')), { own });
    expect(await client.callTool({ name: 'own', arguments: { n: 1 } })).toEqual(content('own 1'));
    expect(await client.callTool({ name: 'own', arguments: { n: 'x' } })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: 'task_list' })).toEqual(content('my own list'));
    expect(await client.callTool({ name: 'quick' })).toEqual(content('done'));
    const { contents } = await client.readResource({ uri: 'file:///etc/motd' });
    expect(contents).toEqual([{ uri: 'file:///etc/motd', text: 'a file' }]);
    expect(await client.getPrompt({ name: 'hello' })).toEqual({ messages: [] });
  });

  it('may be a handler for all unknown methods, set before or after', async () => {
    const extra = (mcp: McpServer): void => {
      mcp.server.fallbackRequestHandler = async ({ method }) => ({ first: method });
    };
    const quick = (tasks: Tasks) => tasks.registerTool('quick', fast, () => text('done'));
    const { client, mcp } = await connected(quick, { own: extra, extended: true });
    const ask = () => client.request({ method: 'x/own' } as never, z.looseObject({}));
    expect(await ask()).toEqual({ first: 'x/own' });
    mcp.server.fallbackRequestHandler = async ({ method }) => ({ second: method });
    expect(await ask()).toEqual({ second: 'x/own' });
    expect(await outcome(client, 'quick')).toMatchObject(content('done'));
    const other = await connected(quick);
    const unknown = other.client.request({ method: 'x/own' } as never, z.looseObject({}));
    await expect(unknown).rejects.toMatchObject({ code: -32601 });
  });

  it('may ask its client, whose answers it gets', async () => {
    const asks = (mcp: McpServer): void => {
      mcp.registerTool('asks', {}, async () => {
        const { action } = await mcp.server.elicitInput({
          message: 'Sure?',
          requestedSchema: { type: 'object', properties: {} },
        });
        return content(action) as never;
      });
    };
    const { client } = await connected(() => {}, { own: asks });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
    expect(await client.callTool({ name: 'asks' })).toEqual(content('decline'));
  });
});

describe('a tool', () => {
  const tree = z.object({
    name: z.string(),
    get children() {
      return z.array(tree).optional();
    },
  });
  const tools = (tasks: Tasks): void => {
    tasks.registerTool(
      'full',
      {
        title: 'Full',
        description: 'Has everything',
        inputSchema: z.object({ when: z.iso.date().transform((day) => new Date(day)), n: z.number().default(2) }),
        outputSchema: z.object({ year: z.number() }),
        annotations: { readOnlyHint: true },
        icons: [{ src: 'https://example.org/icon.png' }],
        _meta: { mine: 1 },
        ...fast,
      },
      ({ when, n }) => ({ structuredContent: { year: when.getUTCFullYear() + n } }),
    );
    tasks.registerTool('list', { ...fast, outputSchema: z.array(z.number()) }, () => ({ structuredContent: [1, 2] }));
    const either = z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]);
    const mixed = z.union([z.object({ a: z.string() }), z.array(z.number())]);
    tasks.registerTool('mixed', { ...fast, outputSchema: mixed }, () => ({ structuredContent: { a: 'b' } }));
    tasks.registerTool('either', { outputSchema: either }, () => ({ structuredContent: { b: 1 } }));
    tasks.registerTool('tree', { ...fast, outputSchema: tree }, () => ({ structuredContent: { name: 'root' } }));
    tasks.registerTool('never', { task: { support: 'forbidden' } }, () => text('at once'));
    tasks.registerTool('must', { task: { support: 'required' } }, () => text('done'));
  };

  it('is listed as on the SDK v2, to clients with tasks and without', async () => {
    for (const capabilities of [{ tasks: {} }, {}]) {
      const { tools: listed } = await listedTo(capabilities);
      const peer = await LegacyPeer.connect(serve(tools), { capabilities });
      const { result } = await peer.send('tools/list');
      expect(compared(listed)).toEqual(compared(result['tools']));
    }
  });

  /** But for what the SDKs do without being asked: one says `$schema` inside of schemas too, one says the default. */
  function compared(listed: unknown): unknown {
    return JSON.parse(JSON.stringify(listed), (key, value) => {
      if (key === 'execution' && value.taskSupport === 'forbidden') return undefined;
      if (key !== 'result') return value;
      const { $schema: _inside, ...schema } = value;
      return schema;
    });
  }

  /** By what comes over the wire: the client would strip what it does not know. */
  async function listedTo(capabilities: Json): Promise<{ tools: Json[] }> {
    const { client } = await connected(tools, { capabilities });
    return (await client.request({ method: 'tools/list' }, z.looseObject({}))) as unknown as { tools: Json[] };
  }

  it('gets its arguments as its own schema makes them, and its results reach the client as it is told', async () => {
    const { client } = await connected(tools);
    await client.listTools(); // From now on the client holds results against what was listed.
    const full = { ...content('{"year":2028}'), structuredContent: { year: 2028 } };
    expect(await client.callTool({ name: 'full', arguments: { when: '2026-07-28' } })).toEqual(full);
    expect(await outcome(client, 'full', { when: '2026-07-28' })).toMatchObject(full);
    for (const call of [outcome(client, 'list'), client.callTool({ name: 'list' })]) {
      expect(await call).toMatchObject({ structuredContent: { result: [1, 2] } });
    }
    for (const call of [outcome(client, 'mixed'), client.callTool({ name: 'mixed' })]) {
      expect(await call).toMatchObject({ structuredContent: { result: { a: 'b' } } });
    }
    expect(await client.callTool({ name: 'either' })).toMatchObject({ structuredContent: { b: 1 } });
    expect(await outcome(client, 'tree')).toMatchObject({ structuredContent: { name: 'root' } });
    expect(await client.callTool({ name: 'never' })).toEqual(content('at once'));
    const wrong = await client.callTool({ name: 'full', arguments: { when: 'never' } });
    expect(wrong).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^Input validation error.* when:/) }],
    });
    const must = { method: 'tools/call' as const, params: { name: 'must' } };
    await expect(client.request(must, CallToolResultSchema)).rejects.toMatchObject({ code: -32601 });
  });

  it('is given nothing that a client put where its arguments are kept', async () => {
    const { client } = await connected((tasks) =>
      tasks.registerTool('echo', { inputSchema: z.looseObject({}) }, (args) => text(JSON.stringify(args))),
    );
    const forged = { name: 'echo', arguments: { own: 1 }, _meta: { 'longcall/arguments': { forged: 1 } } };
    expect(await client.callTool(forged)).toEqual(content('{"own":1}'));
    const bare = { name: 'echo', _meta: { 'longcall/arguments': { forged: 1 } } };
    expect(await client.callTool(bare)).toEqual(content('{}'));
  });
});

describe('a task', () => {
  const asking = (tasks: Tasks): void => {
    tasks.registerTool('asks', fast, async (_args, task) => {
      const form = await task.ask('form', { message: 'Sure?', schema: z.object({ ok: z.boolean() }) });
      const page = await task.ask('page', { message: 'Sign in', url: 'https://example.org/sign' });
      const roots = await task.roots();
      const said = await task.sample('joke', {
        messages: [{ role: 'user', content: { type: 'text', text: 'A joke' } }],
        maxTokens: 10,
      });
      return text(JSON.stringify([form, page.action, roots, said]));
    });
  };

  it('asks its client in every way there is, and is told what it says', async () => {
    const { client } = await connected(asking);
    client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
      params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { ok: true } },
    );
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///src' }] }));
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'ha' },
    }));
    const { content: told } = (await outcome(client, 'asks')) as { content: [{ text: string }] };
    expect(JSON.parse(told[0].text)).toEqual([
      { action: 'accept', content: { ok: true } },
      'accept',
      { action: 'accept', content: { roots: [{ uri: 'file:///src' }] } },
      { action: 'accept', content: { role: 'assistant', model: 'm', content: { type: 'text', text: 'ha' } } },
    ]);
  });

  it('is told of as it goes, and ends where its server is connected anew', async () => {
    const go: (() => void)[] = [];
    const waits = (tasks: Tasks) =>
      tasks.registerTool('waits', { task: { pollIntervalMs: 20 } }, async () => {
        await new Promise<void>((resolve) => go.push(resolve));
        return text('done');
      });
    const { client, connect } = await connected(waits);
    const { tasks } = client.experimental;
    const told: unknown[] = [];
    client.fallbackNotificationHandler = async ({ method, params }) => void told.push([method, params?.['status']]);
    const stream = tasks.callToolStream({ name: 'waits' }, CallToolResultSchema, { task: {} });
    const { value } = await stream.next();
    const { taskId } = (value as { task: { taskId: string } }).task;
    await client.close();
    await connect();
    expect(await tasks.getTask(taskId)).toMatchObject({ status: 'working' });
    const other = tasks.callToolStream({ name: 'waits' }, CallToolResultSchema, { task: {} });
    await other.next();
    await settle();
    for (const resolve of go) resolve();
    expect(await tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject(content('done'));
    let last: unknown;
    for await (const message of other) last = message.type;
    expect(last).toBe('result');
    expect(told).toEqual([['notifications/tasks/status', 'completed']]); // Of the task of this connection.
  });

  it('can be read as a resource by its owner', async () => {
    const { client } = await connected((tasks) => tasks.registerTool('quick', {}, () => text('done')));
    const { taskId } = (
      await client.request(
        { method: 'tools/call', params: { name: 'quick', task: {} } },
        z.looseObject({ task: z.looseObject({ taskId: z.string() }) }),
      )
    ).task;
    await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
    const { contents } = await client.readResource({ uri: `longcall://tasks/${taskId}/result` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toEqual(content('done'));
    await expect(client.readResource({ uri: 'longcall://tasks/tsk_none' })).rejects.toMatchObject({ code: -32602 });
  });
});
