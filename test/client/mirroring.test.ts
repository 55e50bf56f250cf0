import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { atOnce, connected } from './remotes.ts';

/** A server of 2026-07-28 whose tool wants its argument repeated in a header. */
function shop() {
  const methods: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' });
    const inputSchema = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) });
    server.registerTool('buy', { inputSchema }, ({ region }) => ({ content: [{ type: 'text', text: region }] }));
    return server;
  });
  onTestFinished(() => handler.close());
  const fetch = (url: string | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    methods.push(request.headers.get('mcp-method') ?? '');
    return handler.fetch(request);
  };
  return { methods, connect: () => connected({ url: 'http://127.0.0.1/mcp', http: { fetch: fetch as never } }) };
}

const done = (text: string) => ({ status: 'completed', result: { content: [{ type: 'text', text }] } });

describe('arguments that a tool wants repeated in headers', () => {
  it('are, as soon as the server was heard to want it', async () => {
    const { connect, methods } = shop();
    const remote = await connect();
    methods.length = 0;
    for (const region of ['north', 'Zürich', ' ', '=?base64?bm9ydGg=?=']) {
      expect(await atOnce(remote, 'buy', { region })).toMatchObject(done(region));
    }
    // Refused once, which is how it learns of it.
    expect(methods).toEqual(['tools/call', 'tools/list', ...Array(4).fill('tools/call')]);
  });

  it('are at once, where the list was read before, also in what is passed on', async () => {
    const { connect, methods } = shop();
    const remote = await connect();
    await remote.listTools();
    methods.length = 0;
    expect(await atOnce(remote, 'buy', { region: 'north' })).toMatchObject(done('north'));
    const params = { name: 'buy', arguments: { region: 'south' } };
    expect(await remote.link?.request('tools/call', params)).toMatchObject(done('south').result);
    expect(methods).toEqual(['tools/call', 'tools/call']);
  });
});
