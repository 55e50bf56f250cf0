// The least that can ask a server: one POST per request, by `fetch` or by anything that looks like it. The SDK's client
// would keep a session of its own for every life of every server.
import type { Json } from '../support/messages.ts';
import { request } from '../support/messages.ts';

/** A stopped server answers nobody; whether what it was asked was done is then anybody's guess. */
const ANSWER_WITHIN_MS = 15_000;

export type Send = (request: Request) => Promise<Response>;

/** The server itself said no. Anything else means that it could not be asked. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

export interface Client {
  /** The handle of the task that the call became. */
  call(tool: string, args: Json): Promise<Json & { taskId: string }>;
  get(taskId: string): Promise<Json>;
  answer(taskId: string, key: string, content: Json): Promise<void>;
  cancel(taskId: string): Promise<void>;
}

export function clientOf(url: string, send: Send = (asked) => fetch(asked)): Client {
  let last = 0;
  const ask = async (method: string, params: Json, name: string): Promise<Json> => {
    last += 1;
    const response = await send(
      new Request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'mcp-name': name,
        },
        body: JSON.stringify(request(last, method, params)),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      }),
    );
    const message = answerIn(await response.text(), response.headers.get('content-type') ?? '');
    const error = message['error'] as { code: number; message: string } | undefined;
    // The server cannot reach its store (-32603), or is about to end (503). It may be asked again.
    const later = error?.code === -32603 || response.status === 503;
    if (error !== undefined && !later) throw new Refusal(`${method}: ${error.code} ${error.message}`);
    if (error !== undefined) throw new Error(error.message);
    return message['result'] as Json;
  };
  return {
    async call(tool, args) {
      const handle = await ask('tools/call', { name: tool, arguments: args }, tool);
      if (handle['resultType'] !== 'task') throw new Refusal(`${tool} became no task: ${JSON.stringify(handle)}`);
      return handle as Json & { taskId: string };
    },
    get: (taskId) => ask('tasks/get', { taskId }, taskId),
    async answer(taskId, key, content) {
      await ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content } } }, taskId);
    },
    async cancel(taskId) {
      await ask('tasks/cancel', { taskId }, taskId);
    },
  };
}

/** The one message of a response, as JSON or as the last event of a stream. */
function answerIn(text: string, type: string): Json {
  if (!type.startsWith('text/event-stream')) return JSON.parse(text) as Json;
  const data = text.split('\n').filter((line) => line.startsWith('data:'));
  const last = data.at(-1);
  if (last === undefined) throw new Error('the connection broke before there was an answer');
  return JSON.parse(last.slice('data:'.length)) as Json;
}
