// The official package for tasks, on the client of SDK v2, in both of its generations.
import type { Client, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  JsonRpcResponseError,
  type RawClientDispatch,
  type TaskEnabledSession,
  type ToolExecution,
  toolDeclarationFromMcpTool,
  type WithTasksOptions,
} from '@modelcontextprotocol/ext-tasks/client';
import type { JsonValue, TaskId } from '@modelcontextprotocol/ext-tasks/core';
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
import { answering, connected } from './sdk-v2.ts';

const VERSION = '0.2.2';
const MODERN = '2026-07-28';
const endpointId = 'longcall-interop';

export const extTasks: PeerKind = {
  name: `ext-tasks ${VERSION} ${MODERN}`,
  native: true,
  async connect(site) {
    const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const { client, transport } = await connected(site, {
      capabilities,
      versionNegotiation: { mode: { pin: MODERN } },
    });
    const framing = { protocolVersion: MODERN, clientInfo: CLIENT_INFO, clientCapabilities: capabilities };
    return new Session(client, (options) =>
      createTaskSessionFromClient(client, {
        ...options,
        endpointId,
        rawDispatch: sharing(transport),
        v2RequestFraming: framing,
      }),
    );
  },
};

export const extTasksLegacy: PeerKind = {
  name: `ext-tasks ${VERSION} 2025-11-25`,
  native: true,
  // It keeps nothing of a failed task but its message; the payload of `isError` needs a status that is none.
  server: { isErrorStatus: 'completed' },
  async connect(site) {
    const { client } = await connected(site, { capabilities: { elicitation: { form: {} }, tasks: {} } });
    const { tools } = await client.listTools();
    const declarations = new Map(tools.map((tool) => [tool.name, toolDeclarationFromMcpTool(tool)]));
    return new Session(client, (options) =>
      createTaskSessionFromClient(client, {
        ...options,
        endpointId,
        tools: { currentTool: (name) => declarations.get(name) },
      }),
    );
  },
};

class Session implements Peer {
  readonly #client: Client;
  readonly #session: TaskEnabledSession<void>;
  #hooks: Hooks = {};

  constructor(client: Client, open: (options: WithTasksOptions<void>) => TaskEnabledSession<void>) {
    this.#client = client;
    answering(client, () => this.#hooks); // In 2025-11-25 questions are requests to the client itself.
    this.#session = open({
      onInputRequest: async (input) => {
        const { message } = input.params as { message: string };
        return { action: 'accept', content: this.#hooks.onQuestion?.(message) } as never;
      },
    });
  }

  async call(name: string, args: Json): Promise<Outcome> {
    const execution = await this.#session.callTool(name, args as Record<string, JsonValue>);
    return outcomeOf(execution);
  }

  async start(name: string, args: Json, hooks: Hooks = {}): Promise<Followed> {
    this.#hooks = hooks;
    const options = { task: { preference: 'prefer' as const }, requestTimeoutMs: PATIENCE_MS };
    const execution = await this.#session.callTool(name, args as Record<string, JsonValue>, options);
    if (execution.kind !== 'task') throw new Error('answered without a task');
    return {
      taskId: execution.handle.taskId,
      outcome: outcomeOf(execution, hooks),
      cancel: () => execution.cancel(),
    };
  }

  async outcome(taskId: string): Promise<Outcome> {
    const { generation } = this;
    const operation = { originalOperation: 'tools/call' as const, taskId: taskId as TaskId, endpointId };
    return outcomeOf(await this.#session.resumeTask({ ...operation, generation } as never));
  }

  get generation(): 'v1' | 'v2' {
    return this.#client.getProtocolEra() === 'modern' ? 'v2' : 'v1';
  }

  async list(): Promise<{ taskId: string; status: string }[]> {
    const { tasks } = await this.#session.listTasks();
    return tasks.map(({ taskId, status }) => ({ taskId, status }));
  }

  async close(): Promise<void> {
    await this.#session.close();
    await this.#client.close();
  }
}

async function outcomeOf(execution: ToolExecution<unknown>, { onProgress }: Hooks = {}): Promise<Outcome> {
  try {
    const { outcome } = await execution.settle({
      close: true,
      onEvent: (event) => {
        if (event.type === 'task') onProgress?.(event.task.statusMessage ?? '');
      },
    });
    switch (outcome.status) {
      case 'completed':
        return resultOf(outcome.result);
      case 'failed':
        return { status: 'error', code: outcome.error.code, message: outcome.error.message };
      case 'cancelled':
        return { status: 'cancelled' };
    }
  } catch (error) {
    if (error instanceof JsonRpcResponseError) return refused(error);
    throw error;
  }
}

/**
 * What ext-tasks asks for and nobody supplies: requests of its own on the transport of the client, whose own requests have
 * numbers for ids, and these have strings.
 */
function sharing(transport: Transport): RawClientDispatch {
  const waiting = new Map<string, (message: JSONRPCMessage) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const answered = 'method' in message ? undefined : waiting.get(String(message.id));
    if (answered === undefined) onmessage?.(message, extra);
    else answered(message);
  };
  let last = 0;
  return async (sent) => {
    const { method, params } = sent as { method: string; params: Json };
    last += 1;
    const id = `raw-${last}`;
    const message = await new Promise<JSONRPCMessage>((resolve, reject) => {
      waiting.set(id, resolve);
      const onRequestStreamEnd = (): void => reject(new Error(`the connection broke before ${method} was answered`));
      transport.send({ jsonrpc: '2.0', id, method, params }, { onRequestStreamEnd }).catch(reject);
    }).finally(() => waiting.delete(id));
    if ('error' in message) return { kind: 'error', error: message.error } as JsonRpcResponse;
    return { kind: 'result', result: (message as { result: unknown }).result } as JsonRpcResponse;
  };
}
