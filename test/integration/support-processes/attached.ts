// The fixture's tools on servers of the SDK's version 1, as users write them: over stdio, and under Express with a server and
// a transport for each session. A token is the name of its owner.
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express, { type Request } from 'express';
import type { Tasks } from 'longcall';
import { attachTasks } from 'longcall/server/sdk-v1';

const info = { name: 'fixture', version: '1.0.0' };

export async function attachedStdio(tasks: Tasks): Promise<void> {
  const mcp = new McpServer(info);
  attachTasks(mcp, tasks);
  await tasks.start();
  await mcp.connect(new StdioServerTransport());
  process.stdin.once('end', () => void tasks.close());
}

export async function attachedHttp(tasks: Tasks, port: number): Promise<string> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const app = express();
  app.use(express.json());
  app.all('/mcp', async (req: Request & { auth?: object }, res) => {
    const [, name] = /^Bearer (.+)$/.exec(req.get('authorization') ?? '') ?? [];
    if (name !== undefined)
      req.auth = { token: name, clientId: 'the app', scopes: [], extra: { iss: 'us', sub: name } };
    const id = req.get('mcp-session-id');
    let transport = id === undefined ? undefined : sessions.get(id);
    if (id !== undefined && transport === undefined) return void res.sendStatus(404);
    if (transport === undefined) {
      // Whoever begins no session is served for one request.
      const begins = (req.body as { method?: string })?.method === 'initialize';
      const made = new StreamableHTTPServerTransport({
        ...(begins && { sessionIdGenerator: () => randomUUID() }),
        onsessioninitialized: (begun) => void sessions.set(begun, made),
        onsessionclosed: (ended) => void sessions.delete(ended),
      });
      const mcp = new McpServer(info);
      attachTasks(mcp, tasks);
      await mcp.connect(made as never);
      transport = made;
    }
    await transport.handleRequest(req as never, res, req.body);
  });
  await tasks.start();
  const http = app.listen(port, '127.0.0.1');
  await new Promise((resolve) => http.once('listening', resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}
