// An MCP client that can take a task for an answer, as small as it gets: the official SDK's `Client`, and a tap on its
// transport. A ready client library comes with a later release of longcall; until then copy this file.
//
// Why the tap: `client.callTool` and `client.request({ method: 'tools/call' })` refuse a result of type `task`. So this
// one request is sent on the connected transport itself, under ids of its own, and its answer is taken out before the
// SDK sees it. Everything else, `tasks/get` and its siblings included, is an ordinary `client.request`.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  type ClientCapabilities,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';

const REVISION = '2026-07-28';
const INFO = { name: 'longcall-examples', version: '1.0.0' };
/** Tasks have to be declared, and questions are only asked of a client that says it can show a form. */
const CAPABILITIES: ClientCapabilities = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
/** A server that dies between request and answer may leave the request open for ever. */
const ANSWER_WITHIN_MS = 10_000;

const toolResult = z.looseObject({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).default([]),
  structuredContent: z.unknown().optional(),
});
const taskView = z.looseObject({
  taskId: z.string(),
  status: z.enum(['working', 'input_required', 'completed', 'failed', 'cancelled']),
  statusMessage: z.string().optional(),
  createdAt: z.string(),
  lastUpdatedAt: z.string(),
  ttlMs: z.number().nullable(),
  pollIntervalMs: z.number().default(1_000),
  inputRequests: z
    .record(z.string(), z.looseObject({ params: z.looseObject({ message: z.string(), requestedSchema: z.unknown() }) }))
    .optional(),
  result: toolResult.optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

export type TaskView = z.infer<typeof taskView>;
/** A call is answered with its result, or with a task that will have it. */
export type CallOutcome = { result: z.infer<typeof toolResult> } | { task: TaskView };
export type Answers = Record<string, { action: 'accept'; content: object } | { action: 'decline' | 'cancel' }>;

export interface TaskClient {
  /** Of the server, where it is a child of this client. */
  readonly serverPid: number | undefined;
  call(name: string, args: Record<string, unknown>): Promise<CallOutcome>;
  get(taskId: string): Promise<TaskView>;
  update(taskId: string, answers: Answers): Promise<void>;
  cancel(taskId: string): Promise<void>;
  close(): Promise<void>;
}

export function connectHttp(url: string): Promise<TaskClient> {
  return connect(new StreamableHTTPClientTransport(new URL(url)));
}

/** Starts the server and speaks to it over its stdin and stdout; `close` ends it. */
export async function connectStdio(
  command: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<TaskClient> {
  const transport = new OneServer({ command, args, env });
  return connect(transport, () => transport.pid ?? undefined);
}

/** The SDK starts a second server, just to ask for its versions, for every stdio transport that isn't a subclass. */
class OneServer extends StdioClientTransport {}

/** True when the server itself said no. Anything else means that it could not be asked: worth another try. */
export function isRefusal(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError;
}

async function connect(transport: Transport, pid: () => number | undefined = () => undefined): Promise<TaskClient> {
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: REVISION } } });
  await client.connect(transport, { timeout: ANSWER_WITHIN_MS });
  const raw = tap(transport);
  const request = <Schema extends z.ZodType>(method: string, params: Record<string, unknown>, schema: Schema) =>
    client.request({ method, params }, schema, { timeout: ANSWER_WITHIN_MS });
  return {
    serverPid: pid(),
    async call(name, args) {
      const answer = await raw('tools/call', { name, arguments: args });
      return answer.resultType === 'task' ? { task: taskView.parse(answer) } : { result: toolResult.parse(answer) };
    },
    get: (taskId) => request('tasks/get', { taskId }, taskView),
    update: async (taskId, inputResponses) => {
      await request('tasks/update', { taskId, inputResponses }, z.looseObject({}));
    },
    cancel: async (taskId) => {
      await request('tasks/cancel', { taskId }, z.looseObject({}));
    },
    close: () => client.close(),
  };
}

type RawRequest = (method: string, params: Record<string, unknown>) => Promise<Record<string, unknown>>;
type Response = Extract<JSONRPCMessage, { result: unknown } | { error: unknown }>;

/** Shares a connected transport with its client. The SDK numbers its requests; ours have strings for ids. */
function tap(transport: Transport): RawRequest {
  const waiting = new Map<string, { answered(response: Response): void; lost(error: Error): void }>();
  const { onmessage, onclose } = transport;
  transport.onmessage = (message, extra) => {
    const mine = 'method' in message ? undefined : waiting.get(String(message.id));
    if (mine === undefined) onmessage?.(message, extra);
    else mine.answered(message as Response);
  };
  transport.onclose = () => {
    for (const { lost } of waiting.values()) lost(new Error('the connection was closed'));
    onclose?.();
  };
  let last = 0;
  return async (method, params) => {
    last += 1;
    const id = `raw-${last}`;
    // What the SDK adds to requests of its own. Over HTTP the transport makes its headers (MCP-Protocol-Version,
    // Mcp-Method, Mcp-Name) from this version and the message.
    const envelope = {
      [PROTOCOL_VERSION_META_KEY]: REVISION,
      [CLIENT_INFO_META_KEY]: INFO,
      [CLIENT_CAPABILITIES_META_KEY]: CAPABILITIES,
    };
    const response = await new Promise<Response>((answered, lost) => {
      waiting.set(id, { answered, lost });
      setTimeout(() => lost(new Error(`no answer to ${method}`)), ANSWER_WITHIN_MS).unref();
      const onRequestStreamEnd = (): void => lost(new Error(`the connection broke before ${method} was answered`));
      transport
        .send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope } }, { onRequestStreamEnd })
        .catch(lost);
    }).finally(() => waiting.delete(id));
    if ('error' in response)
      throw ProtocolError.fromError(response.error.code, response.error.message, response.error.data);
    return response.result;
  };
}
