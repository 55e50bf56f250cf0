// The `echo` of servers/durable.ts on SDK v1: sessions, tasks in memory, the platform's own HTTP server, and event streams for
// answers, which is its default and the faster way.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';

const taskStore = new InMemoryTaskStore();
const sessions = new Map<string, StreamableHTTPServerTransport>();

const http = createServer((request, response) => {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  const serving = known === undefined ? openSession() : Promise.resolve(known);
  void serving.then((transport) => transport.handleRequest(request, response));
});
http.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
});
process.once('disconnect', () => process.exit());

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await mcpServer().connect(transport as unknown as Transport); // Its types do not tell absent from undefined.
  return transport;
}

function mcpServer(): McpServer {
  const mcp = new McpServer(
    { name: 'sdk-v1', version: '1.0.0' },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  const inputSchema = { words: z.string() };
  mcp.experimental.tasks.registerToolTask(
    'echo',
    { description: 'Says what it is told', inputSchema, execution: { taskSupport: 'optional' } },
    {
      async createTask({ words }, extra) {
        const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? null });
        // The work, which nobody waits for; here it is done at once.
        void extra.taskStore.storeTaskResult(task.taskId, 'completed', { content: [{ type: 'text', text: words }] });
        return { task };
      },
      getTask: (_args, extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async (_args, extra) => (await extra.taskStore.getTaskResult(extra.taskId)) as never,
    },
  );
  return mcp;
}
