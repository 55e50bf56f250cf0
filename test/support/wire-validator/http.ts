import type { WireConnection } from './connection.ts';
import { isObject, metaKey, objectAt } from './json.ts';
import { isRequestId } from './subscriptions.ts';

// A plain `fetch`, the SDK's FetchLike, and a server's own `fetch(request)` handler all fit.
// biome-ignore lint/suspicious/noExplicitAny: parameters of these three have no type in common.
export type AnyFetch = (input: any, init?: any) => Promise<Response>;

export interface HttpConnections {
  /** Ids are per request on modern HTTP, per session before: without a session id this is a new connection. */
  connection(sessionId: string | undefined): WireConnection;
}

/** The HTTP status that some errors of 2026-07-28 go with. */
const statusOf: Record<number, number> = { [-32020]: 400, [-32021]: 400, [-32022]: 400, [-32601]: 404 };

/** Checks all a server answers over HTTP; the caller reads JSON and event streams as ever, and sees them break at a violation. */
export function wrapFetch<F extends AnyFetch>(fetch: F, connections: HttpConnections): F {
  const wrapped = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const request = await outline(input, init);
    const connection = connections.connection(request.headers.get('mcp-session-id') ?? undefined);
    const sent = parse(request.body);
    const version = request.headers.get('mcp-protocol-version') ?? undefined;
    // Its answer comes on the response to it, however often a hostile client uses an id.
    const asked = connection.observeRequest(sent, version);
    const response = await fetch(input, init);
    const begun = response.headers.get('mcp-session-id');
    const check = (message: unknown) => {
      connection.checkOutgoing(message, asked);
      checkError(connection, sent, version, response.status, message);
      const { protocolVersion } = objectAt(message, 'result');
      if (begun !== null && typeof protocolVersion === 'string') connections.connection(begun).agreed(protocolVersion);
    };
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('application/json')) {
      const answer = parse(await response.clone().text());
      // Refused before anybody read it as JSON-RPC, say for want of a token: HTTP's own affair.
      if (response.ok || (isObject(answer) && 'jsonrpc' in answer)) check(answer);
    } else if (type.startsWith('text/event-stream') && response.body) {
      return withBody(response, response.body.pipeThrough(checkingEvents(check)));
    } else if (response.ok && isObject(sent) && 'id' in sent && 'method' in sent) {
      connection.fail(String(sent['method']), sent, [
        { path: '', reason: `must be answered, got only ${response.status}` },
      ]);
    }
    return response;
  };
  return wrapped as F;
}

async function outline(input: unknown, init: RequestInit | undefined): Promise<{ headers: Headers; body: string }> {
  const request = input instanceof Request ? input : undefined;
  const headers = new Headers(init?.headers ?? request?.headers);
  const body = init?.body ?? undefined;
  if (body === undefined) return { headers, body: request ? await request.clone().text() : '' };
  if (typeof body === 'string') return { headers, body };
  if (body instanceof Uint8Array || body instanceof ArrayBuffer)
    return { headers, body: new TextDecoder().decode(body) };
  throw new TypeError('wrapFetch: the body has to be text or bytes, to be read twice');
}

/** What is no JSON, such as a hostile body, is a request nobody made. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the rules of HTTP add to an error of 2026-07-28. */
function checkError(
  connection: WireConnection,
  sent: unknown,
  version: string | undefined,
  status: number,
  message: unknown,
): void {
  const meta = objectAt(sent, 'params', '_meta');
  const modern = metaKey.protocolVersion in meta || (version ?? '') >= '2026';
  if (!modern || !isObject(message) || !('error' in message)) return;
  const refuse = (path: string, reason: string) =>
    connection.fail(isObject(sent) ? String(sent['method']) : '(none)', message, [{ path, reason }]);
  const complete = metaKey.protocolVersion in meta && metaKey.clientCapabilities in meta;
  const code = Number(objectAt(message, 'error')['code']);
  const expected = statusOf[code] ?? (code === -32602 && !complete ? 400 : undefined);
  if (expected !== undefined && status !== expected) {
    refuse('/error/code', `must go with HTTP ${expected}, not ${status}`);
  }
  // Other statuses may come from before the body was read.
  const id = message['id'] ?? undefined;
  if (id === undefined && [200, 400, 404].includes(status) && isWholeRequest(sent)) {
    refuse('/id', 'must be the id of the request, which could be read');
  }
}

function isWholeRequest(sent: unknown): boolean {
  if (!isObject(sent) || sent['jsonrpc'] !== '2.0' || typeof sent['method'] !== 'string') return false;
  return isRequestId(sent['id']) && (sent['params'] === undefined || isObject(sent['params']));
}

/** Passes the bytes of an event stream on, each event after it was checked. */
function checkingEvents(check: (message: unknown) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  const take = (text: string, controller: TransformStreamDefaultController<Uint8Array>) => {
    // Of a message that comes in many pieces, only what is new is looked at.
    const from = Math.max(0, rest.length - 3);
    rest += text;
    for (const event of wholeEvents(from)) {
      const data = dataOf(event);
      // Without data it only gives an id to resume from.
      if (data !== '') check(parse(data));
      controller.enqueue(encoder.encode(event));
    }
  };
  /** Takes from the rest what has come whole; nothing ends before `from`. */
  const wholeEvents = (from: number): string[] => {
    const ends = /\r?\n\r?\n/g;
    ends.lastIndex = from;
    const events: string[] = [];
    let begun = 0;
    while (ends.exec(rest) !== null) {
      events.push(rest.slice(begun, ends.lastIndex));
      begun = ends.lastIndex;
    }
    rest = rest.slice(begun);
    return events;
  };
  return new TransformStream({
    transform: (chunk, controller) => take(decoder.decode(chunk, { stream: true }), controller),
    flush: (controller) => {
      if (rest !== '') controller.enqueue(encoder.encode(rest));
    },
  });
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).replace(/^ /, ''))
    .join('\n');
}

function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}
