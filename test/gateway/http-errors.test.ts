import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { modernServer, standing, upstream } from './support.ts';

const REVISION = '2026-07-28';

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  const inputSchema = z.object({
    region: z.string().meta({ 'x-mcp-header': 'Region' }).optional(),
    order: z.object({ count: z.number().int().meta({ 'x-mcp-header': 'Count' }) }).optional(),
  });
  server.registerTool('buy', { inputSchema }, (args) => ({ content: [{ type: 'text', text: JSON.stringify(args) }] }));
  return server;
}

/** Sends one request as it would be sent by hand. */
async function ask(url: string, method: string, params: object, headers: Record<string, string> = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const { name } = params as { name?: string };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  const { error, result } = (await response.json()) as { error?: { code: number }; result?: { content: unknown } };
  return { status: response.status, code: error?.code, content: result?.content };
}

describe('errors that HTTP tells too', () => {
  it.each(['initialize', 'ping', 'shop/close', 'prompts/list/all'])(
    '404 where there is no such method: %s',
    async (method) => {
      const { url } = await standing({ upstreams: [upstream((await modernServer(shop)).target)] });
      expect(await ask(url, method, {})).toMatchObject({ status: 404, code: -32601 });
    },
  );

  it.each(['direct', 'task'] as const)(
    '400 where headers do not repeat what a tool wants repeated, %s',
    async (mode) => {
      const { url } = await standing({
        upstreams: [upstream((await modernServer(shop)).target, { policy: { mode } })],
      });
      const buy = (args: object, headers?: Record<string, string>) =>
        ask(url, 'tools/call', { name: 'buy', arguments: args }, headers);
      const refused = { status: 400, code: -32020 };
      expect(await buy({ region: 'north' })).toMatchObject(refused);
      expect(await buy({ region: 'north' }, { 'mcp-param-region': 'south' })).toMatchObject(refused);
      expect(await buy({ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' })).toMatchObject(refused);
      expect(await buy({ order: { count: 3 } }, { 'mcp-param-count': '4' })).toMatchObject(refused);
      const done = (args: object) => ({ status: 200, content: [{ text: JSON.stringify(args) }] });
      expect(await buy({})).toMatchObject(done({}));
      expect(await buy({ region: 'north' }, { 'mcp-param-region': 'north' })).toMatchObject(done({ region: 'north' }));
      const city = { region: 'Zürich', order: { count: 3 } };
      const headers = { 'mcp-param-region': '=?base64?WsO8cmljaA==?=', 'mcp-param-count': '3.0' };
      expect(await buy(city, headers)).toMatchObject(done(city));
    },
  );
});
