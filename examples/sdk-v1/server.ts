import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { createTasks, sqliteStore, text } from 'longcall';
import { attachTasks } from 'longcall/server/sdk-v1';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'transcode',
  { description: 'Transcode frames', inputSchema: z.object({ frames: z.int().min(1) }), task: { pollIntervalMs: 100 } },
  async ({ frames }, task) => {
    for (let n = 0; n < frames; n += 100) {
      await task.step(`frames ${n}`, ({ signal }) => setTimeout(300, 'encoded', { signal })); // Stands for the real work.
      task.progress(Math.min(n + 100, frames), frames, 'frames');
    }
    return text(`${frames} frames`);
  },
);

/** The server as it was, and one line more. */
function newServer(): McpServer {
  const server = new McpServer({ name: 'studio', version: '1.0.0' });
  server.registerTool('formats', {}, () => ({ content: [{ type: 'text', text: 'mp4, webm' }] }));
  attachTasks(server, tasks, { principal: () => ({ subject: 'me' }) }); // Nobody else reaches this machine.
  return server;
}

await tasks.start();
if (process.argv.includes('--stdio')) {
  await newServer().connect(new StdioServerTransport());
  process.stdin.once('end', () => void tasks.close());
} else {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const app = createMcpExpressApp(); // Checks Host; listens to this machine only.
  app.all('/mcp', async (req, res) => {
    const id = req.get('mcp-session-id');
    if (id !== undefined && !sessions.has(id)) return void res.sendStatus(404);
    const transport = id === undefined ? await begin() : sessions.get(id);
    await transport?.handleRequest(req, res, req.body);
  });
  const begin = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (begun) => void sessions.set(begun, transport),
      onsessionclosed: (ended) => void sessions.delete(ended),
    });
    await newServer().connect(transport as Transport);
    return transport;
  };
  const http = app.listen(Number(process.env.PORT ?? 7717), '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  });
}
