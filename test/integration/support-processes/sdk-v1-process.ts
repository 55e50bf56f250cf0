// A server as users of the SDK's version 1 write it, over stdio, on the database it is given. Its tool `build` ends at once
// with the target it was asked for, or, for the target `never`, not at all.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { createTasks, sqliteStore } from 'longcall';
import { durableTaskStore, ownTasks, taskMessageQueue } from 'longcall/server/sdk-v1';
import { z } from 'zod';

const [, , database = ''] = process.argv;
const tasks = createTasks({ store: sqliteStore(database) });
const server = new McpServer(
  { name: 'v1', version: '1.0.0' },
  {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: durableTaskStore(tasks),
    taskMessageQueue: taskMessageQueue(),
  },
);
ownTasks(server);
server.experimental.tasks.registerToolTask(
  'build',
  { inputSchema: { target: z.string() } },
  {
    async createTask({ target }, { taskStore }) {
      const task = await taskStore.createTask({ pollInterval: 50 });
      if (target !== 'never') {
        void taskStore.storeTaskResult(task.taskId, 'completed', { content: [{ type: 'text', text: target }] });
      }
      return { task };
    },
    getTask: (_args, { taskStore, taskId }) => taskStore.getTask(taskId),
    getTaskResult: (_args, { taskStore, taskId }) => taskStore.getTaskResult(taskId) as Promise<CallToolResult>,
  },
);
await tasks.start();
await server.connect(new StdioServerTransport());
