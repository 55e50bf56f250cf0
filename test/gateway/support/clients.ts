// The clients of the comparison: official ones, each a generation of tasks, or none.
import {
  type ClientOptions,
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  type JSONRPCMessage,
  type Transport as TransportV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import type { Transport as TransportV1 } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Json } from '../../support/messages.ts';
import { ABILITIES, answerTo } from './answers.ts';

/** How a server is reached. */
export type Reach =
  | { command: string; args: string[]; env?: Record<string, string>; cwd?: string }
  | { url: string; headers?: Record<string, string> };

export type Answer = { result: Json } | { error: { code: number; message: string; data?: unknown } };

export interface Peer {
  request(method: string, params: Json): Promise<Answer>;
  /** Calls a tool, and follows its task where it becomes one. */
  call(name: string, args: Json): Promise<Answer>;
  /** How many calls became tasks. */
  readonly tasks: number;
  capabilities(): Json;
  instructions(): string | undefined;
  close(): Promise<void>;
}

export interface ClientKind {
  name: string;
  /** Whether its calls become tasks where the server can do that. */
  tasks: boolean;
  /** @param folder that it shows to servers as its root */
  connect(reach: Reach, folder: string): Promise<Peer>;
}

const INFO = { name: 'comparison', version: '1.0.0' };
const MODERN = '2026-07-28';
const EXTENSION = 'io.modelcontextprotocol/tasks';
const anything = z.looseObject({});
const patience = { timeout: 60_000 };

export const clientKinds: readonly ClientKind[] = [
  {
    name: 'sdk v2 on 2026-07-28 with the extension',
    tasks: true,
    async connect(reach, folder) {
      const capabilities = { ...ABILITIES, extensions: { [EXTENSION]: {} } };
      const { client, transport } = await overV2(reach, folder, { capabilities, versionNegotiation: { mode: 'auto' } });
      return new Extended(client, transport, capabilities, folder);
    },
  },
  {
    name: 'sdk v1 on 2025-11-25 with tasks',
    tasks: true,
    connect: (reach, folder) => overV1(reach, folder, true),
  },
  {
    name: 'sdk v2 on 2026-07-28 without the extension',
    tasks: false,
    async connect(reach, folder) {
      const options: ClientOptions = { capabilities: ABILITIES, versionNegotiation: { mode: 'auto' } };
      return new PeerV2((await overV2(reach, folder, options)).client);
    },
  },
  {
    name: 'sdk v2 on 2025-11-25 without tasks',
    tasks: false,
    connect: async (reach, folder) =>
      new PeerV2(
        (await overV2(reach, folder, { capabilities: ABILITIES, versionNegotiation: { mode: 'legacy' } })).client,
      ),
  },
  {
    name: 'sdk v1 on 2025-11-25 without tasks',
    tasks: false,
    connect: (reach, folder) => overV1(reach, folder, false),
  },
];

async function overV2(
  reach: Reach,
  folder: string,
  options: ClientOptions,
): Promise<{ client: ClientV2; transport: TransportV2 }> {
  const client = new ClientV2(INFO, options);
  client.setRequestHandler('roots/list', () => answerTo('roots/list', {}, folder) as never);
  for (const method of ['sampling/createMessage', 'elicitation/create'] as const) {
    client.setRequestHandler(method, ({ params }) => answerTo(method, params as Json, folder) as never);
  }
  const transport: TransportV2 =
    'url' in reach
      ? new HttpV2(new URL(reach.url), { requestInit: { headers: reach.headers ?? {} } })
      : new StdioV2({ ...reach, stderr: 'ignore' });
  await client.connect(transport, patience);
  return { client, transport };
}

class PeerV2 implements Peer {
  protected readonly client: ClientV2;
  tasks = 0;

  constructor(client: ClientV2) {
    this.client = client;
  }

  request(method: string, params: Json): Promise<Answer> {
    return answered(this.client.request({ method, params }, anything, patience));
  }

  call(name: string, args: Json): Promise<Answer> {
    return this.request('tools/call', { name, arguments: args });
  }

  capabilities(): Json {
    return { ...this.client.getServerCapabilities() };
  }

  instructions(): string | undefined {
    return this.client.getInstructions();
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

interface Task {
  taskId: string;
  status: string;
  pollIntervalMs?: number;
  inputRequests?: Record<string, { method: string; params: Json }>;
  result?: Json;
  error?: { code: number; message: string };
}

/** The official client refuses to receive a task, so calls go past it over its own transport. */
class Extended extends PeerV2 {
  readonly #transport: TransportV2;
  readonly #capabilities: Json;
  readonly #folder: string;
  readonly #waiting = new Map<unknown, (message: JSONRPCMessage) => void>();
  #last = 0;

  constructor(client: ClientV2, transport: TransportV2, capabilities: Json, folder: string) {
    super(client);
    this.#transport = transport;
    this.#capabilities = capabilities;
    this.#folder = folder;
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      const take = 'method' in message ? undefined : this.#waiting.get(message.id);
      if (take === undefined) onmessage?.(message, extra);
      else take(message);
    };
  }

  override async call(name: string, args: Json): Promise<Answer> {
    if (this.client.getProtocolEra() !== 'modern') return super.call(name, args);
    let round: Json = {};
    for (;;) {
      const answer = await this.#raw('tools/call', { name, arguments: args, ...round });
      if ('error' in answer) return answer;
      const { result } = answer;
      if (result['resultType'] === 'task') return this.#follow(result as unknown as Task);
      if (result['resultType'] !== 'input_required') return answer;
      const { inputRequests, requestState } = result as unknown as Task & { requestState?: string };
      round = {
        inputResponses: this.#answers(inputRequests ?? {}),
        ...(requestState !== undefined && { requestState }),
      };
    }
  }

  async #follow({ taskId, pollIntervalMs = 500 }: Task): Promise<Answer> {
    this.tasks += 1;
    const answeredKeys = new Set<string>();
    for (;;) {
      const answer = await this.#raw('tasks/get', { taskId });
      if ('error' in answer) return answer;
      const task = answer.result as unknown as Task;
      if (task.status === 'completed') return { result: task.result ?? {} };
      if (task.status === 'failed') return { error: task.error ?? { code: 0, message: 'no error' } };
      if (task.status === 'cancelled') return { error: { code: 0, message: 'cancelled' } };
      const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answeredKeys.has(key));
      for (const [key] of open) answeredKeys.add(key);
      const inputResponses = this.#answers(Object.fromEntries(open));
      if (open.length > 0) await this.#raw('tasks/update', { taskId, inputResponses });
      else await new Promise((resolve) => setTimeout(resolve, Math.min(task.pollIntervalMs ?? pollIntervalMs, 500)));
    }
  }

  #answers(asked: Record<string, { method: string; params: Json }>): Json {
    const answers = Object.entries(asked).map(([key, { method, params }]) => [
      key,
      answerTo(method, params ?? {}, this.#folder),
    ]);
    return Object.fromEntries(answers) as Json;
  }

  async #raw(method: string, params: Json): Promise<Answer> {
    this.#last += 1;
    const id = `raw-${this.#last}`;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': INFO,
      'io.modelcontextprotocol/clientCapabilities': this.#capabilities,
    };
    const message = await new Promise<JSONRPCMessage>((resolve, reject) => {
      this.#waiting.set(id, resolve);
      const onRequestStreamEnd = (): void => reject(new Error(`${method} was not answered`));
      this.#transport
        .send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }, { onRequestStreamEnd })
        .catch(reject);
    }).finally(() => this.#waiting.delete(id));
    return ('error' in message ? { error: message.error } : { result: (message as { result: Json }).result }) as Answer;
  }
}

async function overV1(reach: Reach, folder: string, withTasks: boolean): Promise<Peer> {
  const asked = { tasks: { requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } } };
  const client = new ClientV1(INFO, {
    capabilities: { ...ABILITIES, ...(withTasks && asked) },
    ...(withTasks && { taskStore: new InMemoryTaskStore() }),
  });
  client.setRequestHandler(ListRootsRequestSchema, () => answerTo('roots/list', {}, folder));
  for (const schema of [CreateMessageRequestSchema, ElicitRequestSchema]) {
    client.setRequestHandler(schema, async ({ method, params }, { taskStore }) => {
      const answer = answerTo(method, params as Json, folder);
      if (params.task === undefined || taskStore === undefined) return answer;
      const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 100 });
      await taskStore.storeTaskResult(task.taskId, 'completed', answer);
      return { task };
    });
  }
  // The types of v1 do not tell an absent property from an undefined one.
  const transport =
    'url' in reach
      ? (new HttpV1(new URL(reach.url), { requestInit: { headers: reach.headers ?? {} } }) as unknown as TransportV1)
      : new StdioV1({ ...reach, stderr: 'ignore' });
  await client.connect(transport, patience);
  return new PeerV1(client, withTasks);
}

class PeerV1 implements Peer {
  readonly #client: ClientV1;
  readonly #withTasks: boolean;
  #tools: Promise<ReadonlySet<string>> | undefined;
  tasks = 0;

  constructor(client: ClientV1, withTasks: boolean) {
    this.#client = client;
    this.#withTasks = withTasks;
  }

  request(method: string, params: Json): Promise<Answer> {
    return answered(this.#client.request({ method, params } as never, ResultSchema, patience) as Promise<Json>);
  }

  async call(name: string, args: Json): Promise<Answer> {
    const plainly = !this.#withTasks || !(await this.#taskTools()).has(name);
    return plainly ? this.request('tools/call', { name, arguments: args }) : this.#asTask(name, args);
  }

  async #asTask(name: string, args: Json): Promise<Answer> {
    const { tasks } = this.#client.experimental;
    const options = { ...patience, task: {} };
    const stream = tasks.callToolStream({ name, arguments: args }, ResultSchema as never, options);
    let task: { taskId: string; status: string } | undefined;
    for await (const message of stream) {
      if (message.type === 'taskCreated') this.tasks += 1;
      if (message.type === 'taskCreated' || message.type === 'taskStatus') task = message.task;
      if (message.type === 'result') return { result: message.result as Json };
      if (message.type !== 'error') continue;
      // All that the stream says of a task without success is its status; what it came to has to be asked for.
      if (task?.status !== 'failed') return asError(message.error);
      return answered(tasks.getTaskResult(task.taskId, ResultSchema as never, patience) as Promise<Json>);
    }
    throw new Error('the stream ended without an outcome');
  }

  #taskTools(): Promise<ReadonlySet<string>> {
    this.#tools ??= this.#client.listTools().then(({ tools }) => {
      const can = this.#client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
      const support = (tool: (typeof tools)[number]) => tool.execution?.taskSupport ?? 'forbidden';
      return new Set(tools.filter((tool) => can && support(tool) !== 'forbidden').map((tool) => tool.name));
    });
    return this.#tools;
  }

  capabilities(): Json {
    return { ...this.#client.getServerCapabilities() };
  }

  instructions(): string | undefined {
    return this.#client.getInstructions();
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

async function answered(request: Promise<Json>): Promise<Answer> {
  try {
    return { result: await request };
  } catch (error) {
    return asError(error);
  }
}

/** What is no answer of the server's is thrown: no comparison is made with a broken connection. */
function asError(error: unknown): Answer {
  const { code, message, data } = error as Error & { code?: unknown; data?: unknown };
  if (typeof code !== 'number') throw error;
  // The client of v1 puts the code before what the server said.
  const said = message.replace(/^MCP error -?\d+: /, '');
  return { error: { code, message: said, ...(data !== undefined && { data }) } };
}
