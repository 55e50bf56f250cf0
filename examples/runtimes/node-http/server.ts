import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { SILENT_MS, server, times } from '../tasks.ts';

const mcp = toNodeHandler(server) as RequestListener;
const allowedHost = localhostHostValidation();
const allowedOrigin = localhostOriginValidation();

const http = createServer(times, (req, res) => {
  if (req.url === '/health') res.end('ok');
  else if (req.url !== '/mcp') res.writeHead(404).end();
  else if (allowedHost(req, res) && allowedOrigin(req, res)) mcp(req, res);
});
http.timeout = SILENT_MS;
http.listen(Number(process.env.PORT ?? 7717), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});

process.once('SIGTERM', async () => {
  await server.close(); // First, so that connections which end now call nothing off.
  http.close();
  http.closeAllConnections();
});
