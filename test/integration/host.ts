// A host on the official SDK, with every message it receives held against the wire's rules.
import {
  Client,
  type ClientCapabilities,
  type ClientOptions,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  type TaskEnabledSession,
} from '@modelcontextprotocol/ext-tasks/client';
import { forExtTasks } from 'longcall/client';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Json } from '../support/messages.ts';
import { createWireValidator, type WireValidator } from '../support/wire-validator.ts';
import { command, type Place, until } from './processes.ts';

/** For a transport that is no subclass the SDK starts a second server, just to ask it for its versions. */
class OneServer extends StdioClientTransport {}

const REVISION = '2026-07-28';
const INFO = { name: 'test-host', version: '1.0.0' };
const EXTENSION = 'io.modelcontextprotocol/tasks';
const anything = z.looseObject({});

const capabilities = { elicitation: { form: {} }, extensions: { [EXTENSION]: {} } } satisfies ClientCapabilities;

export interface Host {
  client: Client;
  transport: Transport;
  /** A request as it goes over the wire, with its answer; SDK clients refuse to receive a handle. */
  raw(method: string, params: Json, declared?: Json): Promise<JsonRpcResponse>;
  /** Calls a tool that becomes a task. */
  start(name: string, args?: Json): Promise<Json & { taskId: string }>;
  get(taskId: string): Promise<Json>;
  /** The task, as soon as it is as wanted; a server that cannot be reached is asked again. */
  when(taskId: string, what: string, wanted: (task: Json) => boolean): Promise<Json>;
  update(taskId: string, inputResponses: Json): Promise<Json>;
  cancel(taskId: string): Promise<Json>;
  /** A session of the official tasks client, which answers questions with `onInput`. */
  session(onInput?: (message: string) => Json): TaskEnabledSession<void>;
  close(): Promise<void>;
}

/** One validator for one server, however often it is restarted. It is asked at the end of the test. */
export function validated(): WireValidator {
  const validator = createWireValidator();
  onTestFinished(() => {
    validator.assertClean();
    expect(validator.checked).toBeGreaterThan(0);
  });
  return validator;
}

export function overHttp(url: string, validator: WireValidator, options?: ClientOptions): Promise<Host> {
  return connect(new StreamableHTTPClientTransport(new URL(url), { fetch: validator.wrapFetch(fetch) }), options);
}

export async function overStdio(
  place: Place,
  validator: WireValidator,
  options?: ClientOptions,
): Promise<Host & { kill(): Promise<void> }> {
  const transport = new OneServer({ ...command('stdio', place.database, place.folder), stderr: 'ignore' });
  const host = await connect(validator.tapTransport(transport), options);
  const kill = async (): Promise<void> => {
    const { pid } = transport;
    const closed = new Promise<void>((resolve) => {
      const { onclose } = transport;
      transport.onclose = () => {
        onclose?.();
        resolve();
      };
    });
    if (pid !== null) process.kill(pid, 'SIGKILL');
    await closed;
  };
  return Object.assign(host, { kill });
}

const modern: ClientOptions = { capabilities, versionNegotiation: { mode: { pin: REVISION } } };

async function connect(transport: Transport, options: ClientOptions = modern): Promise<Host> {
  const client = new Client(INFO, options);
  await client.connect(transport);
  onTestFinished(() => client.close());
  const exchange = sharing(transport);
  const raw: Host['raw'] = (method, params, declared = capabilities) =>
    exchange(method, {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': REVISION,
        'io.modelcontextprotocol/clientInfo': INFO,
        'io.modelcontextprotocol/clientCapabilities': declared,
      },
    });
  const request = (method: string, params: Json): Promise<Json> => client.request({ method, params }, anything);
  const get: Host['get'] = (taskId) => request('tasks/get', { taskId });
  return {
    client,
    transport,
    raw,
    async start(name, args = {}) {
      const answer = await raw('tools/call', { name, arguments: args });
      expect(answer).toMatchObject({ kind: 'result', result: { resultType: 'task' } });
      return (answer as unknown as { result: Json & { taskId: string } }).result;
    },
    get,
    when: (taskId, what, wanted) =>
      until(`${taskId} ${what}`, async () => {
        const task = await get(taskId).catch((error: Error) => {
          if ('code' in error && typeof error.code === 'number') throw error; // The server itself said no.
          return undefined;
        });
        return task !== undefined && wanted(task) ? task : undefined;
      }),
    update: (taskId, inputResponses) => request('tasks/update', { taskId, inputResponses }),
    cancel: (taskId) => request('tasks/cancel', { taskId }),
    session: (onInput) =>
      createTaskSessionFromClient(client, {
        endpointId: 'fixture',
        ...forExtTasks(client, { info: INFO, capabilities }),
        ...(onInput && {
          onInputRequest: async (input) => {
            const { message } = input.params as { message: string };
            return { action: 'accept', content: onInput(message) } as never;
          },
        }),
      }),
    close: () => client.close(),
  };
}

/** Shares a connected transport with its client: the SDK numbers its requests, these have strings for ids. */
function sharing(transport: Transport): (method: string, params: Json) => Promise<JsonRpcResponse> {
  const waiting = new Map<string, (message: JSONRPCMessage) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const answered = 'method' in message ? undefined : waiting.get(String(message.id));
    if (answered === undefined) onmessage?.(message, extra);
    else answered(message);
  };
  let last = 0;
  return async (method, params) => {
    last += 1;
    const id = `raw-${last}`;
    const message = await new Promise<JSONRPCMessage>((resolve, reject) => {
      waiting.set(id, resolve);
      const onRequestStreamEnd = (): void => reject(new Error(`the connection broke before ${method} was answered`));
      transport.send({ jsonrpc: '2.0', id, method, params }, { onRequestStreamEnd }).catch(reject);
    }).finally(() => waiting.delete(id));
    if ('error' in message) return { kind: 'error', error: message.error } as JsonRpcResponse;
    return { kind: 'result', result: (message as unknown as { result: never }).result };
  };
}
