import { Client } from '@modelcontextprotocol/client';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { OnQuestion } from '../../src/client/remote.ts';
import { RemoteGoneError } from '../../src/client/remote-errors.ts';
import { connected, startTask } from './remotes.ts';

// The SDK's first version, with its own experimental tasks and its own store: nothing of ours on that side.

const abilities = { form: true };

/** How the task of `build` ends, or what it asks first. */
type Plan = (task: {
  ask: (message: string) => Promise<{ action: string }>;
  finish: (status: 'completed' | 'failed', result: CallToolResult) => Promise<void>;
}) => Promise<void>;

async function built(plan: Plan, onQuestion?: OnQuestion) {
  const store = new InMemoryTaskStore();
  onTestFinished(() => store.cleanup());
  const server = new McpServer(
    { name: 'v1', version: '1.0.0' },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: store,
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  server.experimental.tasks.registerToolTask(
    'build',
    { inputSchema: { target: z.string() }, execution: { taskSupport: 'required' } },
    {
      async createTask(_args, { taskStore, sendRequest }) {
        const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 20 });
        const requestedSchema = { type: 'object' as const, properties: { ok: { type: 'boolean' as const } } };
        void plan({
          ask: (message) =>
            sendRequest(
              { method: 'elicitation/create', params: { message, requestedSchema } },
              z.looseObject({ action: z.string() }),
              {
                relatedTask: { taskId: task.taskId },
              } as never,
            ),
          finish: (status, result) => taskStore.storeTaskResult(task.taskId, status, result),
        });
        return { task };
      },
      getTask: (_args, { taskStore, taskId }) => taskStore.getTask(taskId),
      getTaskResult: (_args, { taskStore, taskId }) => taskStore.getTaskResult(taskId) as Promise<CallToolResult>,
    },
  );
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  const client = new Client({ name: 'a host', version: '1' }, { capabilities: { elicitation: { form: {} } } });
  await client.connect(ours as never);
  onTestFinished(() => client.close());
  return connected({ client, abilities, ...(onQuestion && { onQuestion }) });
}

const content = [{ type: 'text' as const, text: 'built' }];

describe("a server of the SDK's first version, with a client that somebody else connected", () => {
  it.each([
    ['completed', { content }],
    ['failed', { content, isError: true }],
  ] as const)('runs a task that ends %s, and its result comes whole [C-001]', async (status, result) => {
    const remote = await built(({ finish }) => finish(status, result));
    expect(remote).toMatchObject({ revision: '2025-11-25', repeatable: false, origin: 'a client of yours (v1)' });
    const { taskId, pollIntervalMs, ttlMs } = await startTask(remote, 'build', { target: 'app' });
    expect([pollIntervalMs, ttlMs]).toEqual([20, 60_000]);
    expect(await remote.outcome(taskId)).toEqual({ status: 'completed', result });
  });

  it('asks while its outcome is waited for', async () => {
    const asked: unknown[] = [];
    const onQuestion: OnQuestion = async ({ taskId, question }) => {
      asked.push([taskId, question.kind]);
      return { action: 'accept', content: { ok: true } };
    };
    const remote = await built(async ({ ask, finish }) => {
      const { action } = await ask('Sure?');
      await finish('completed', { content: [{ type: 'text', text: action }] });
    }, onQuestion);
    const { taskId } = await startTask(remote, 'build', { target: 'app' });
    expect(await remote.outcome(taskId)).toEqual({
      status: 'completed',
      result: { content: [{ type: 'text', text: 'accept' }] },
    });
    expect(asked).toEqual([[taskId, 'form']]);
  });

  it('cancels a task, whose result it never kept', async () => {
    const remote = await built(() => new Promise(() => {}));
    const { taskId } = await startTask(remote, 'build', { target: 'app' });
    await remote.cancel(taskId);
    expect(await remote.outcome(taskId)).toMatchObject({ status: 'cancelled' });
    await remote.cancel(taskId);
    await expect(remote.get('none')).rejects.toThrow(RemoteGoneError);
  });
});
