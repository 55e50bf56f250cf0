import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ManualClock } from '../../src/testing/index.ts';
import { deferred } from '../support/engine.ts';
import { type Era, guest, plainServer, standing, upstream, words } from './support.ts';

const eras: Era[] = ['legacy', 'auto'];

function library(): McpServer {
  const server = new McpServer(
    { name: 'library', version: '3.2.1', title: 'The library' },
    { instructions: 'Read quietly.', capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  server.registerTool(
    'lend',
    { inputSchema: { book: z.string() }, annotations: { readOnlyHint: true } },
    ({ book }) => ({
      content: [{ type: 'text', text: `lent ${book}` }],
      _meta: { 'com.example/shelf': 7 },
    }),
  );
  server.registerTool('lose', {}, () => ({ content: [{ type: 'text', text: 'it is lost' }], isError: true }));
  server.registerTool('count', {}, async ({ _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 2, message: 'half' };
      await sendNotification({ method: 'notifications/progress', params });
    }
    return { content: [{ type: 'text', text: JSON.stringify(_meta?.['com.example/tenant'] ?? null) }] };
  });
  server.registerTool('ask', {}, async () => {
    const requestedSchema = {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    };
    const { action, content } = await server.server.elicitInput({ message: 'Who are you?', requestedSchema });
    return { content: [{ type: 'text', text: `${action} ${String(content?.name)}` }] };
  });
  server.registerResource('book', 'book://1', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, text: 'once upon a time' }],
  }));
  server.registerResource(
    'page',
    new ResourceTemplate('page://{n}', { list: undefined, complete: { n: (value) => [`${value}1`, `${value}2`] } }),
    {},
    ({ href }, { n }) => ({ contents: [{ uri: href, text: `page ${String(n)}` }] }),
  );
  for (const schema of [SubscribeRequestSchema, UnsubscribeRequestSchema]) {
    server.server.setRequestHandler(schema, () => ({}));
  }
  server.registerPrompt('review', { argsSchema: { book: z.string() } }, ({ book }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Review ${book}` } }],
  }));
  return server;
}

async function direct(era: Era, options: Parameters<typeof guest>[2] = {}) {
  const plain = await plainServer(library);
  const { url, gateway } = await standing({ upstreams: [upstream(plain.target, { policy: { mode: 'direct' } })] });
  return { plain, gateway, client: await guest(url, era, options) };
}

describe.each(eras)('what is passed through, to a client of %s', (era) => {
  it('is what the upstream says of itself, and of its tools', async () => {
    const { client } = await direct(era);
    expect(client.getServerVersion()).toMatchObject({ name: 'library', version: '3.2.1', title: 'The library' });
    expect(client.getInstructions()).toBe('Read quietly.');
    expect(client.getServerCapabilities()).toMatchObject({
      logging: {},
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      completions: {},
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['lend', 'lose', 'count', 'ask']);
    expect(tools[0]).toMatchObject({ annotations: { readOnlyHint: true }, inputSchema: { required: ['book'] } });
  });

  it('is results and errors, unchanged', async () => {
    const { client } = await direct(era);
    const lent = await client.callTool({ name: 'lend', arguments: { book: 'Emma' } });
    expect(lent).toMatchObject({ content: [{ text: 'lent Emma' }], _meta: { 'com.example/shelf': 7 } });
    expect(await client.callTool({ name: 'lose' })).toMatchObject({ isError: true, content: [{ text: 'it is lost' }] });
    const unknown = await client.callTool({ name: 'burn' }).catch((error: unknown) => error);
    expect(unknown).toMatchObject({ code: -32602, message: expect.stringContaining('Unknown tool: burn') });
    const invalid = await client.callTool({ name: 'lend', arguments: {} });
    expect(words(invalid)).toContain('Invalid arguments for tool lend'); // In the words of the upstream.
  });

  it('is resources, templates, prompts and completions', async () => {
    const { client } = await direct(era);
    expect((await client.listResources()).resources).toMatchObject([{ uri: 'book://1', mimeType: 'text/plain' }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'page://{n}',
      'longcall://tasks/{id}',
      'longcall://tasks/{id}/log',
      'longcall://tasks/{id}/log/{stream}/{lines}',
      'longcall://tasks/{id}/log/{cursor}',
      'longcall://tasks/{id}/result',
    ]);
    expect((await client.readResource({ uri: 'page://7' })).contents).toMatchObject([{ text: 'page 7' }]);
    await expect(client.readResource({ uri: 'none://7' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'review', arguments: [{ name: 'book' }] }]);
    const got = await client.getPrompt({ name: 'review', arguments: { book: 'Emma' } });
    expect(got.messages).toMatchObject([{ content: { text: 'Review Emma' } }]);
    const ref = { type: 'ref/resource' as const, uri: 'page://{n}' };
    const { completion } = await client.complete({ ref, argument: { name: 'n', value: '4' } });
    expect(completion.values).toEqual(['41', '42']);
  });

  it('is progress, and what of _meta is for the upstream', async () => {
    const { client } = await direct(era);
    const heard: unknown[] = [];
    const params = { name: 'count', _meta: { 'com.example/tenant': 'blue' } };
    const counted = await client.callTool(params, { onprogress: (progress) => heard.push(progress) });
    expect(words(counted)).toBe('"blue"');
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });

  it('is what the upstream asks while a call waits', async () => {
    const asked: string[] = [];
    const { client } = await direct(era, {
      capabilities: { elicitation: { form: {} } },
      prepare: (guest) =>
        guest.setRequestHandler('elicitation/create', ({ params }) => {
          asked.push(params.message);
          return { action: 'accept', content: { name: 'Ada' } };
        }),
    });
    expect(words(await client.callTool({ name: 'ask' }))).toBe('accept Ada');
    expect(asked).toEqual([expect.stringContaining('Who are you?')]);
  });

  it('is what the upstream cannot be told: that nobody can be asked', async () => {
    const { client, plain } = await direct(era);
    await client.listTools();
    expect(plain.servers.at(-1)?.server.getClientCapabilities()).not.toHaveProperty('elicitation');
    expect(words(await client.callTool({ name: 'ask' }))).toContain('does not support');
  });

  it('is that a call is not wanted any more', async () => {
    const stopped = deferred();
    const waiting = deferred();
    const plain = await plainServer(() => {
      const server = library();
      server.registerTool('wait', {}, async ({ signal }) => {
        signal.addEventListener('abort', () => stopped.resolve());
        waiting.resolve();
        await stopped.promise;
        return { content: [] };
      });
      return server;
    });
    const { url } = await standing({ upstreams: [upstream(plain.target, { policy: { mode: 'direct' } })] });
    const client = await guest(url, era);
    const stop = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: stop.signal });
    await waiting.promise;
    stop.abort();
    await expect(call).rejects.toThrow();
    await stopped.promise;
  });

  it('is changes of lists and of resources', async () => {
    const { client, plain } = await direct(era);
    const tools = deferred();
    const book = deferred();
    client.setNotificationHandler('notifications/tools/list_changed', () => tools.resolve());
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      if (params.uri === 'book://1') book.resolve();
    });
    if (era === 'legacy') await client.subscribeResource({ uri: 'book://1' });
    else await client.listen({ toolsListChanged: true, resourceSubscriptions: ['book://1'] });
    const [server] = plain.servers.slice(-1);
    server?.registerTool('new', {}, () => ({ content: [] }));
    await tools.promise;
    await server?.server.sendResourceUpdated({ uri: 'book://1' });
    await book.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('new');
  });
});

describe('whoever listens to a resource', () => {
  const IDLE_MS = 60_000;

  async function listening() {
    const plain = await plainServer(library);
    const clock = new ManualClock();
    const config = { upstreams: [upstream(plain.target, { policy: { mode: 'direct' }, idleAfterMs: IDLE_MS })] };
    const { gateway, url } = await standing(config, { clock });
    const client = await guest(url, 'auto');
    const told = deferred();
    client.setNotificationHandler('notifications/resources/updated', () => told.resolve());
    const stream = await client.listen({ resourceSubscriptions: ['book://1'] });
    return { plain, clock, gateway, stream, told: told.promise };
  }

  it('keeps the connection by which its upstream tells of it, however long nothing else is asked', async () => {
    const { plain, clock, gateway, told } = await listening();
    for (let times = 0; times < 10; times += 1) {
      clock.advance(IDLE_MS / 2);
      await gateway.status();
    }
    await plain.servers[0]?.server.sendResourceUpdated({ uri: 'book://1' });
    await told;
    expect(plain.servers).toHaveLength(1);
  });

  it('lets go of it when it listens no more, and makes no other one to say so', async () => {
    const { plain, clock, gateway, stream } = await listening();
    await stream.close();
    for (let lanes = 1; lanes > 0; ) {
      clock.advance(IDLE_MS / 2);
      lanes = (await gateway.status()).upstreams[0]?.lanes.length ?? 0;
    }
    expect(plain.servers).toHaveLength(1);
  });
});

it('is offered of several upstreams what any of them can do', async () => {
  const plain = await plainServer(library);
  const simple = await plainServer(() => {
    const server = new McpServer({ name: 'shelf', version: '1' });
    server.registerResource('shelf', 'shelf://1', {}, ({ href }) => ({ contents: [{ uri: href, text: 'full' }] }));
    return server;
  });
  const several = [
    upstream(plain.target, { name: 'library', prefix: 'library_' }),
    upstream(simple.target, { name: 'shelf', prefix: 'shelf_' }),
  ];
  for (const upstreams of [several, several.toReversed()]) {
    const { url } = await standing({ upstreams });
    for (const era of eras) {
      const client = await guest(url, era);
      expect(client.getServerCapabilities()?.resources).toEqual({ listChanged: true, subscribe: true });
      if (era === 'auto') continue; // There one listens instead.
      const book = deferred();
      client.setNotificationHandler('notifications/resources/updated', () => book.resolve());
      await client.subscribeResource({ uri: 'book://1' });
      await plain.servers.at(-1)?.server.sendResourceUpdated({ uri: 'book://1' });
      await book.promise;
    }
  }
});
