// The same server without longcall: the official SDK alone, on the HTTP stack that longcall's `listen` uses (Hono on
// @hono/node-server, Host and Origin checked by the SDK's own functions).
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { z } from 'zod';

const inputSchema = z.object({ words: z.string() });
const handler = createMcpHandler(() => {
  const mcp = new McpServer({ name: 'plain', version: '1.0.0' });
  mcp.registerTool('echo', { description: 'Says what it is told', inputSchema }, ({ words }) => ({
    content: [{ type: 'text', text: words }],
  }));
  return mcp;
});
const hosts = localhostAllowedHostnames();
const origins = localhostAllowedOrigins();
const app = new Hono();
app.use(async ({ req }, next) => {
  const refused = hostHeaderValidationResponse(req.raw, hosts) ?? originValidationResponse(req.raw, origins);
  if (refused !== undefined) return refused;
  await next();
  return undefined;
});
app.all('/mcp', ({ req }) => handler.fetch(req.raw));

const server = createAdaptorServer({ fetch: app.fetch });
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
});
process.once('disconnect', () => process.exit());
