import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/hono';
import { Hono } from 'hono';
import { SILENT_MS, server, times } from '../tasks.ts';

const app = new Hono();
app.use('/mcp', localhostHostValidation(), localhostOriginValidation());
app.all('/mcp', (c) => server.fetch(c.req.raw));
app.get('/health', (c) => c.text('ok'));

const http = serve(
  { fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 7717), serverOptions: times },
  ({ port }) => console.log(`http://127.0.0.1:${port}/mcp`),
) as Server;
http.timeout = SILENT_MS;

process.once('SIGTERM', async () => {
  await server.close(); // First, so that connections which end now call nothing off.
  http.close();
  http.closeAllConnections();
});
