import { randomUUID } from 'node:crypto';
import {
  type McpHandlerRequestOptions,
  readRequestBody,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { isJsonObject, type Principal, Recent } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { encodeTooDeep, isTooDeep } from '../wire/depth.ts';
import { METHODS as FIRST_DRAFT_METHODS } from '../wire/rev-sep-1686/index.ts';
import { encodeSession, METHODS, readInitialize, type Session } from '../wire/rev2025-11-25/index.ts';
import { REVISION } from '../wire/rev2026-07-28/index.ts';
import { dataIn } from './event-frames.ts';
import { eventStream, isEventStream, takesEventStream } from './event-stream.ts';
import { principalIfKnown } from './principal.ts';
import { sealOf } from './seals.ts';
import type { Serving } from './serving.ts';
import { openSession } from './sessions.ts';

export const SESSION_HEADER = 'mcp-session-id';
export const VERSION_HEADER = 'mcp-protocol-version';
export const METHOD_HEADER = 'mcp-method';

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
  const ended = new Recent<string, true>(MAX_ENDED);
  const open = async (id: string, principal: Principal | undefined): Promise<Session | undefined> => {
    const session = principal === undefined ? undefined : await openSession(tasks, id, principal);
    return session === undefined || ended.has(session.id) ? undefined : session;
  };
  const end = ({ id }: Session): Response => {
    serving.followers.end(id);
    ended.set(id, true);
    return new Response(null, { status: 204 });
  };
  return async (incoming, requestOptions) => {
    // Read for the SDK too, which makes a copy of every body that it reads by itself.
    const read = incoming.method === 'POST' ? await readOnce(incoming, requestOptions, maxBytes) : undefined;
    if (read !== undefined && 'body' in read && isTooDeep(read.body)) {
      return Response.json(encodeTooDeep(read.body), { status: 400 });
    }
    if (read !== undefined && 'refused' in read) return read.refused;
    const request = read !== undefined && 'unread' in read ? read.unread : incoming;
    const options =
      read !== undefined && 'body' in read ? { ...requestOptions, parsedBody: read.body } : requestOptions;
    if (isModern(request.headers)) return inner(request, options);
    const auth = requestOptions?.authInfo;
    const principal = principalIfKnown(serving.principalOf, auth);
    const id = request.headers.get(SESSION_HEADER);
    const session = id === null ? undefined : await open(id, principal);
    if (id !== null && session === undefined) return refusal(404, 'Session not found; begin another with initialize');
    if (session !== undefined && request.method === 'DELETE') return end(session);
    if (session !== undefined && request.method === 'GET') return channel(tasks, serving, session, request, principal);
    if (read === undefined || !('body' in read)) return inner(request, options);
    const { body } = read;
    if (await serving.desk.take(body, principal)) return new Response(null, { status: 202 });
    if (session !== undefined && serving.relay.take(session.id, body)) return new Response(null, { status: 202 });
    if (session !== undefined) serving.inFlight.cancel(session.id, body);
    if (isAboutTasks(body)) aboutTasks.add(request);
    const response = await inner(request, options);
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
 * The body, read once for everybody; or, for what the SDK has to refuse in its own words (no JSON, or too much of it), a
 * request whose body can still be read; or the answer to one that broke off, which nobody may be there to hear.
 */
export async function readOnce(
  request: Request,
  options: McpHandlerRequestOptions | undefined,
  maxBytes: number,
): Promise<{ body: unknown } | { unread: Request } | { refused: Response }> {
  if (options?.parsedBody !== undefined) return { body: options.parsedBody };
  let text: string | undefined;
  try {
    text = await readText(request, maxBytes);
  } catch {
    return { refused: refusal(400, 'Parse error: the request body broke off', -32_700) };
  }
  if (text === undefined) return { unread: request };
  try {
    return { body: JSON.parse(text) as unknown };
  } catch {
    const { url, method, headers, signal } = request;
    return { unread: request.bodyUsed ? new Request(url, { method, headers, signal, body: text }) : request };
  }
}

/** A copy costs more than all the rest of reading; it is only needed where nobody says how long the body will be. */
async function readText(request: Request, maxBytes: number): Promise<string | undefined> {
  const length = request.headers.get('content-length');
  if (length !== null && Number(length) <= maxBytes) return request.text();
  const read = await readRequestBody(request.clone(), maxBytes);
  return read.tooLarge ? undefined : read.text;
}

/** Whoever polls wants to know how things are, and no stream on which to wait. */
function isPoll(body: unknown): boolean {
  return isJsonObject(body) && body.method === METHODS.get;
}

/** The one message of a stream, as what it is. @see 2025-11-25 tasks, "Input Required Status", note on `tasks/get` */
async function withoutStream(response: Response): Promise<Response> {
  if (!isEventStream(response)) return response;
  const answer = dataIn(await response.text());
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return new Response(answer ?? null, { status: answer === undefined ? 500 : response.status, headers });
}

const aboutTasksMethods = new Set<unknown>([...Object.values(METHODS), ...Object.values(FIRST_DRAFT_METHODS)]);

/** Requests whose servers need no tools: they are many, and tools cost time to register. */
const aboutTasks = new WeakSet<Request>();

export function isAboutTask(request: Request | undefined): boolean {
  return request !== undefined && aboutTasks.has(request);
}

function isAboutTasks(body: unknown): boolean {
  return isJsonObject(body) && aboutTasksMethods.has(body.method);
}

/** Closed by the client, by the next one that the same session opens, or with the session. */
function channel(
  tasks: Tasks,
  serving: Serving,
  session: Session,
  request: Request,
  principal: Principal | undefined,
): Response {
  if (!takesEventStream(request)) {
    return refusal(406, 'Not Acceptable: the client must accept text/event-stream');
  }
  const { response, send, room, end, closed } = eventStream(tasks.engine.clock, request);
  const { version, capabilities } = session;
  const stream = {
    send: async (message: object) => send(message),
    room,
    abilities: capabilities.abilities,
    samplesAsTask: capabilities.samplesAsTask,
    principal,
    version,
    asked: new Set<string>(),
    end,
  };
  const close = serving.followers.open(session.id, stream, { patient: true });
  void closed.then(close);
  return response;
}

function refusal(status: number, message: string, code = -32_001): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message } }, { status });
}
