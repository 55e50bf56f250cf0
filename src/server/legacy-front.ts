import { randomUUID } from 'node:crypto';
import {
  type McpHandlerRequestOptions,
  readRequestBody,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isJsonObject, type Principal } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { decodeSession, encodeSession, METHODS, readInitialize, type Session } from '../wire/rev2025-11-25/index.ts';
import { REVISION } from '../wire/rev2026-07-28/index.ts';
import { eventStream } from './event-stream.ts';
import { principalIfKnown } from './principal.ts';
import { sealOf } from './seals.ts';
import type { Serving } from './serving.ts';

export const SESSION_HEADER = 'mcp-session-id';
export const VERSION_HEADER = 'mcp-protocol-version';
export const METHOD_HEADER = 'mcp-method';
const EVENT_STREAM = 'text/event-stream';

/** Ended sessions that are still remembered as such; one that is forgotten opens again, and holds nothing. */
const MAX_ENDED = 1_000;

const legacyVersions = SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < REVISION);

export type Fetch = (request: Request, options?: McpHandlerRequestOptions) => Promise<Response>;

/**
 * What sessions of 2025-11-25 and earlier need and a handler that keeps nothing between requests cannot give: a session
 * id, which holds all there is of the session, so that it survives every restart; a channel for what a session is told
 * unasked; and answers to our own requests, wherever they arrive.
 */
export function legacyFront(tasks: Tasks, serving: Serving, options: { maxBytes: number; inner: Fetch }): Fetch {
  const { inner, maxBytes } = options;
  const ended = new Set<string>();
  const open = async (id: string, principal: Principal | undefined): Promise<Session | undefined> => {
    const session = principal === undefined ? undefined : decodeSession(id, principal, await sealOf(tasks));
    return session === undefined || ended.has(session.id) ? undefined : session;
  };
  const end = ({ id }: Session): Response => {
    serving.followers.end(id);
    ended.add(id);
    const [oldest] = ended;
    if (ended.size > MAX_ENDED && oldest !== undefined) ended.delete(oldest);
    return new Response(null, { status: 204 });
  };
  return async (request, requestOptions) => {
    if (isModern(request.headers)) return inner(request, requestOptions);
    const auth = requestOptions?.authInfo;
    const principal = principalIfKnown(serving.principalOf, auth);
    const id = request.headers.get(SESSION_HEADER);
    const session = id === null ? undefined : await open(id, principal);
    if (id !== null && session === undefined) return refusal(404, 'Session not found');
    if (session !== undefined && request.method === 'DELETE') return end(session);
    if (session !== undefined && request.method === 'GET') return channel(tasks, serving, session, request);
    const read = request.method === 'POST' ? await readOnce(request, requestOptions, maxBytes) : undefined;
    if (read === undefined) return inner(request, requestOptions);
    const { body } = read;
    if (await serving.desk.take(body, () => serving.principalOf({ auth }))) return new Response(null, { status: 202 });
    if (session !== undefined && serving.relay.take(session.id, body)) return new Response(null, { status: 202 });
    if (session !== undefined) serving.inFlight.cancel(session.id, body);
    const response = await inner(request, { ...requestOptions, parsedBody: body });
    if (isPoll(body)) return withoutStream(response);
    const begun = session === undefined ? readInitialize(body, randomUUID(), legacyVersions) : undefined;
    if (begun === undefined || principal === undefined || !response.ok) return response;
    const headers = new Headers(response.headers);
    headers.set(SESSION_HEADER, encodeSession(begun, principal, await sealOf(tasks)));
    return new Response(response.body, { status: response.status, headers });
  };
}

/** Requests of 2026-07-28 have no session; an id of one that comes with them all the same means nothing. */
function isModern(headers: Headers): boolean {
  return headers.has(METHOD_HEADER) || (headers.get(VERSION_HEADER) ?? '') >= REVISION;
}

/**
 * The body, read once for everybody.
 * @returns `undefined` for what the SDK has to refuse in its own words: not JSON, or too much of it
 */
export async function readOnce(
  request: Request,
  options: McpHandlerRequestOptions | undefined,
  maxBytes: number,
): Promise<{ body: unknown } | undefined> {
  if (options?.parsedBody !== undefined) return { body: options.parsedBody };
  const read = await readRequestBody(request.clone(), maxBytes);
  if (read.tooLarge) return undefined;
  try {
    return { body: JSON.parse(read.text) as unknown };
  } catch {
    return undefined;
  }
}

/** Whoever polls wants to know how things are, and no stream on which to wait. */
function isPoll(body: unknown): boolean {
  return isJsonObject(body) && body.method === METHODS.get;
}

/** The one message of a stream, as what it is. @see 2025-11-25 tasks, "Input Required Status", note on `tasks/get` */
async function withoutStream(response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith(EVENT_STREAM) !== true) return response;
  const text = await response.text();
  const [, answer] = /^data: (.+)$/m.exec(text) ?? [];
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return new Response(answer ?? null, { status: answer === undefined ? 500 : response.status, headers });
}

/** Closed by the client, by the next one that the same session opens, or with the session. */
function channel(tasks: Tasks, serving: Serving, session: Session, request: Request): Response {
  if (request.headers.get('accept')?.includes(EVENT_STREAM) !== true) {
    return refusal(406, 'Not Acceptable: the client must accept text/event-stream');
  }
  const { response, send, end, closed } = eventStream(tasks.engine.clock, request.signal);
  const { abilities } = session.capabilities;
  const stream = { send: async (message: object) => send(message), abilities, asked: new Set<string>(), end };
  const close = serving.followers.open(session.id, stream, { patient: true });
  void closed.then(close);
  return response;
}

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32_001, message } }, { status });
}
