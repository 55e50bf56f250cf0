import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import express from 'express';
import { SILENT_MS, server, times } from '../tasks.ts';

const app = express();
const mcp = toNodeHandler(server);
// Before `express.json()`. After it, hand on what it parsed: `mcp(req, res, req.body)`.
app.all('/mcp', localhostHostValidation(), localhostOriginValidation(), (req, res) => void mcp(req, res));
app.use(express.json());
app.get('/health', (_req, res) => void res.send('ok'));

const http = createServer(times, app);
http.timeout = SILENT_MS;
http.listen(Number(process.env.PORT ?? 7717), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

process.once('SIGTERM', async () => {
  await server.close(); // First, so that connections which end now call nothing off.
  http.close();
  http.closeAllConnections();
});
