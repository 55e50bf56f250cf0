// The official client of SDK v1, by its experimental API for tasks.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  CLIENT_INFO,
  type Followed,
  type Hooks,
  type Json,
  type Outcome,
  PATIENCE_MS,
  type Peer,
  type PeerKind,
  refused,
  resultOf,
} from '../peer.ts';
import type { Site } from '../site.ts';

const timeout = { timeout: PATIENCE_MS };

export const sdkV1: PeerKind = {
  name: 'sdk v1 1.32.2 2025-11-25',
  native: true,
  async connect(site) {
    const client = new Client(CLIENT_INFO, { capabilities: { elicitation: { form: {} } } });
    await client.connect(transportTo(site), timeout);
    return new Streaming(client);
  },
};

function transportTo({ transport, url, command, validator }: Site): Transport {
  // The types of v1 do not tell an absent property from an undefined one.
  if (transport === 'http') {
    const made = new StreamableHTTPClientTransport(new URL(url), { fetch: validator.wrapFetch(fetch) });
    return made as unknown as Transport;
  }
  return validator.tapTransport(new StdioClientTransport({ ...command, stderr: 'ignore' }) as never) as Transport;
}

type Stream = ReturnType<Client['experimental']['tasks']['callToolStream']>;

class Streaming implements Peer {
  readonly #client: Client;
  #hooks: Hooks = {};

  constructor(client: Client) {
    this.#client = client;
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      const content = this.#hooks.onQuestion?.(params.message) as Record<string, string> | undefined;
      return content === undefined ? { action: 'decline' } : { action: 'accept', content };
    });
  }

  call(name: string, args: Json): Promise<Outcome> {
    return this.#client.callTool({ name, arguments: args }, undefined, timeout).then(resultOf, refused);
  }

  async start(name: string, args: Json, hooks: Hooks = {}): Promise<Followed> {
    this.#hooks = hooks;
    const { tasks } = this.#client.experimental;
    const stream = tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, { ...timeout, task: {} });
    const first = await stream.next();
    if (first.done || first.value.type !== 'taskCreated') throw new Error(`no task: ${JSON.stringify(first)}`);
    const { taskId } = first.value.task;
    return {
      taskId,
      outcome: this.#follow(stream, taskId),
      cancel: async () => void (await tasks.cancelTask(taskId, timeout)),
    };
  }

  async #follow(stream: Stream, taskId: string): Promise<Outcome> {
    let status = '';
    for await (const message of stream) {
      switch (message.type) {
        case 'taskStatus':
          status = message.task.status;
          this.#hooks.onProgress?.(message.task.statusMessage ?? '');
          break;
        case 'result':
          return resultOf(message.result);
        case 'error':
          // All that the stream says of a task without success is its status.
          if (status === 'failed' || status === 'cancelled') return this.outcome(taskId);
          return refused(message.error);
      }
    }
    throw new Error('the stream ended without an outcome');
  }

  async outcome(taskId: string): Promise<Outcome> {
    const { tasks } = this.#client.experimental;
    for (;;) {
      const { status, pollInterval } = await tasks.getTask(taskId, timeout);
      if (status === 'cancelled') return { status };
      if (status !== 'working') {
        return tasks.getTaskResult(taskId, CallToolResultSchema, timeout).then(resultOf, refused);
      }
      await new Promise((resolve) => setTimeout(resolve, pollInterval));
    }
  }

  async list(): Promise<{ taskId: string; status: string }[]> {
    const { tasks } = await this.#client.experimental.tasks.listTasks(undefined, timeout);
    return tasks.map(({ taskId, status }) => ({ taskId, status }));
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
