import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { type CallToolResult, CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Tasks } from '../../../src/engine/index.ts';
import {
  type DurableTaskStore,
  durableTaskStore,
  type OwnTasksOptions,
  ownTasks,
  taskMessageQueue,
} from '../../../src/server/sdk-v1/index.ts';
import { createWireValidator, type WireValidator } from '../../support/wire-validator.ts';
import { authOf } from './requests.ts';

/** What the work of the tool `build` is to come to: tests settle it from outside, as a job system would. */
export interface Job {
  taskId: string;
  signal: AbortSignal;
  finish(status: 'completed' | 'failed', result: CallToolResult): Promise<void>;
  update(status: 'working' | 'input_required', message?: string): Promise<void>;
  /** Asks the client of the task, the way the SDK's own example does. */
  ask(message: string): Promise<{ action: string }>;
}

/** A server as users of the SDK's version 1 write it. */
export function aServer(store: DurableTaskStore, started: (job: Job) => void, options: OwnTasksOptions = {}) {
  const server = new McpServer(
    { name: 'v1', version: '1.0.0' },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: store,
      taskMessageQueue: taskMessageQueue(),
    },
  );
  ownTasks(server, options);
  for (const taskSupport of ['required', 'optional'] as const) {
    server.experimental.tasks.registerToolTask(
      taskSupport === 'required' ? 'build' : 'maybe',
      { inputSchema: { target: z.string() }, execution: { taskSupport } },
      {
        async createTask({ target }, { taskStore, taskRequestedTtl, sendRequest }) {
          const task = await taskStore.createTask({
            ...(taskRequestedTtl !== undefined && { ttl: taskRequestedTtl }),
            pollInterval: 20,
            context: { target },
          });
          const { taskId } = task;
          started({
            taskId,
            signal: store.signalOf(taskId),
            finish: (status, result) => taskStore.storeTaskResult(taskId, status, result),
            update: (status, message) => taskStore.updateTaskStatus(taskId, status, message),
            ask: (message) =>
              sendRequest(
                {
                  method: 'elicitation/create',
                  params: { message, requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } },
                },
                z.object({ action: z.string() }).loose(),
                { relatedTask: { taskId } } as RequestOptions, // The type of the SDK forgets it.
              ),
          });
          return { task };
        },
        getTask: (_args, { taskStore, taskId }) => taskStore.getTask(taskId),
        getTaskResult: (_args, { taskStore, taskId }) => taskStore.getTaskResult(taskId) as Promise<CallToolResult>,
      },
    );
  }
  return server;
}

/** Hands out jobs in the order they were started. */
export function jobs() {
  const ready: Job[] = [];
  const waiting: ((job: Job) => void)[] = [];
  return {
    started: (job: Job): void => {
      const next = waiting.shift();
      if (next === undefined) ready.push(job);
      else next(job);
    },
    next: (): Promise<Job> => {
      const job = ready.shift();
      return job === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(job);
    },
  };
}

/** A client of the SDK's version 1 on a connection of its own; `who` signs each of its requests. */
export async function connected(
  tasks: Tasks,
  { who, validator, ...own }: { who?: string; validator?: WireValidator } & OwnTasksOptions = {},
) {
  const store = durableTaskStore(tasks);
  const queue = jobs();
  const server = aServer(store, queue.started, own);
  const client = aClient();
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const send = ours.send.bind(ours);
  if (who !== undefined) ours.send = (message, options) => send(message, { ...options, authInfo: authOf(who) });
  await server.connect(theirs);
  await client.connect((validator ?? createWireValidator()).tapTransport(ours as never) as never);
  onTestFinished(() => client.close());
  return { client, server, store, next: queue.next };
}

export function aClient(): Client {
  return new Client({ name: 'host', version: '1.0.0' }, { capabilities: { elicitation: {}, tasks: {} } });
}

/** Everything `callToolStream` yields, as it comes. */
export async function streamed(client: Client, name: string, ttl?: number) {
  const seen = [];
  const calls = client.experimental.tasks.callToolStream({ name, arguments: { target: 'app' } }, CallToolResultSchema, {
    task: ttl === undefined ? {} : { ttl },
  });
  for await (const message of calls) seen.push(message);
  return seen;
}

/** Calls `build` and returns the new task's id. */
export async function call(client: Client, ttl?: number): Promise<string> {
  const params = { name: 'build', arguments: { target: 'app' }, task: ttl === undefined ? {} : { ttl } };
  const { task } = await client.request(
    { method: 'tools/call', params },
    z.object({ task: z.object({ taskId: z.string() }).loose() }).loose(),
  );
  return task.taskId;
}
