import { isJsonObject } from '../../src/core/index.ts';

const DRAFT_TASK = 'modelcontextprotocol.io/task';

/** A request as JSON-RPC knows it: the only thing that has to be answered by its id. */
export interface SentRequest {
  id: string | number;
  method: string;
  params: Record<string, unknown>;
}

/** What a body is, as far as anybody can tell. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function requestIn(message: unknown): SentRequest | undefined {
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0' || typeof message['method'] !== 'string') return undefined;
  const { id, method, params = {} } = message;
  if ('result' in message || 'error' in message || !isJsonObject(params)) return undefined;
  return typeof id === 'string' || Number.isSafeInteger(id) ? { id: id as string | number, method, params } : undefined;
}

/** Whether the answer may come as late as it likes: it is a stream, or waits for a task that may never end. */
export function mayStayOpen(method: string, message: unknown): boolean {
  if (method === 'GET') return true;
  const messages = Array.isArray(message) ? message : [message];
  return messages.some((one) => {
    const { method: called } = isJsonObject(one) ? one : {};
    return called === 'subscriptions/listen' || called === 'tasks/result' || waitsForClient(one);
  });
}

/** A tool of the server's own, which asks its client; and a task of the first draft, whose call is answered at its end. */
function waitsForClient(message: unknown): boolean {
  const params = isJsonObject(message) ? message['params'] : undefined;
  if (!isJsonObject(params)) return false;
  return params['name'] === 'own_ask' || (isJsonObject(params['_meta']) && DRAFT_TASK in params['_meta']);
}
