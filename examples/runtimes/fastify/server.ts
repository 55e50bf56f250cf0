import type { RequestListener } from 'node:http';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/fastify';
import { toNodeHandler } from '@modelcontextprotocol/node';
import Fastify from 'fastify';
import { SILENT_MS, server, times } from '../tasks.ts';

const app = Fastify({
  http: times,
  requestTimeout: 120_000, // Fastify's own has no bound, and replaces that of `http`.
  keepAliveTimeout: 75_000,
  connectionTimeout: SILENT_MS,
  forceCloseConnections: true,
});
const mcp = toNodeHandler(server) as RequestListener;

app.register((scope, _options, ready) => {
  scope.addHook('onRequest', localhostHostValidation());
  scope.addHook('onRequest', localhostOriginValidation());
  // Here, and nowhere else in the application, bodies are left to the handler, and so are answers.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _body, done) => done(null));
  scope.all('/mcp', (request, reply) => {
    reply.hijack();
    mcp(request.raw, reply.raw);
  });
  ready();
});
app.get('/health', () => 'ok');

console.log(`${await app.listen({ port: Number(process.env.PORT ?? 7717), host: '127.0.0.1' })}/mcp`);

process.once('SIGTERM', async () => {
  await server.close(); // First, so that connections which end now call nothing off.
  await app.close();
});
