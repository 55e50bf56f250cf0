import {
  createMcpHandler,
  type McpHttpHandler,
  type McpServer,
  type McpServerFactory,
} from '@modelcontextprotocol/server';
import { DEFAULTS, type JsonObject, type Principal } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { mayList, type Session, sessionless } from '../wire/rev2025-11-25/index.ts';
import { isTaskMethod } from '../wire/rev2026-07-28/index.ts';
import { attach } from './attach.ts';
import type { Authentication } from './auth/authentication.ts';
import { endingWithToken } from './auth/expiring.ts';
import { gate } from './auth/gate.ts';
import { closedResponse } from './closed.ts';
import { openEarly } from './early-stream.ts';
import { withoutNullId } from './error-body.ts';
import type { Channel } from './followers.ts';
import { frontHost } from './front/front-host.ts';
import { FrontServer } from './front/front-server.ts';
import { withRefusal } from './front/http-status.ts';
import { hostOn } from './host-v2.ts';
import { leave } from './leaving.ts';
import { isAboutTask, legacyFront, METHOD_HEADER, SESSION_HEADER, VERSION_HEADER } from './legacy-front.ts';
import { listenFront } from './listen-front.ts';
import { defaultPrincipal, principalIfKnown } from './principal.ts';
import { type Serving, type ServingOptions, servingOf } from './serving.ts';
import { openSession } from './sessions.ts';
import { withRetryAfter } from './too-many-requests.ts';
import { troubleLogOf } from './trouble-log.ts';

/** Makes a server for one request (HTTP) or one connection (stdio); its own tools, prompts and resources stay. */
export type TaskServerFactory = (ctx: Parameters<McpServerFactory>[0]) => McpServer | Promise<McpServer>;

/** The same of servers in front of others. */
export type FrontFactory = () => FrontServer;

export interface TaskHandlerOptions extends ServingOptions {
  /** Bytes of a request body; larger ones are answered 413. @default 4 MiB */
  maxRequestBytes?: number;
  /**
   * Who is let in over HTTP: `oauth(…)` or `bearerTokens(…)`. What the caller of `fetch` says in `authInfo` then counts for
   * nothing. @default everybody
   */
  auth?: Authentication;
}

/**
 * Serves an `McpServer` of your own together with the tools of `tasks`, like the SDK's `createMcpHandler`, to clients of
 * every revision.
 *
 * The handler checks neither Host nor Origin, and tokens only with `auth`: mount it behind what does, or use
 * `createTaskServer(…).listen()`, which does.
 * @param factory called per request, as the SDK's own handler calls it
 */
export function createTaskHandler(
  tasks: Tasks,
  factory: TaskServerFactory,
  options: TaskHandlerOptions = {},
): McpHttpHandler {
  return taskHandler(tasks, factory, options);
}

/** A handler that can tell those who listen of something that is about no task. */
export interface AnnouncingHandler extends McpHttpHandler {
  /** @param to those sessions that are told; subscriptions of 2026-07-28 are, where they asked for it */
  announce(notification: Announcement, to: (session: Channel, sessionId: string) => boolean): void;
}

export interface Announcement {
  method: string;
  params: JsonObject;
}

/** The same, also for servers in front of others. */
export function taskHandler(
  tasks: Tasks,
  factory: TaskServerFactory | FrontFactory,
  options: TaskHandlerOptions,
): AnnouncingHandler {
  const { auth } = options;
  const serving = servingOf(tasks, options, auth?.principal ?? defaultPrincipal('local'));
  const maxBytes = options.maxRequestBytes ?? DEFAULTS.maxArgumentBytes;
  const handler = createMcpHandler(withTasks(tasks, factory, serving), {
    maxRequestBodySize: maxBytes,
    onerror: (error) => tasks.logger.info({ error }, 'a request was refused or broke off'),
  });
  const inner: McpHttpHandler['fetch'] = async (request, requestOptions) =>
    withRefusal(request, await handler.fetch(request, requestOptions));
  const listens = listenFront(tasks, serving, { maxBytes, inner });
  const front = legacyFront(tasks, serving, { maxBytes, inner: listens.fetch });
  let closed = false;
  const serve: McpHttpHandler['fetch'] = async (request, requestOptions) => {
    if (closed) return closedResponse();
    const served = front(request, requestOptions)
      .then(withoutNullId)
      .then((response) => withRetryAfter(request, response));
    return openEarly(tasks.engine.clock, request, served);
  };
  return {
    ...handler,
    fetch: auth === undefined ? serve : guarded(auth, tasks, options, serve),
    announce({ method, params }, to) {
      serving.followers.tell({ jsonrpc: '2.0', method, ...(Object.keys(params).length > 0 && { params }) }, to);
      switch (method) {
        case 'notifications/tools/list_changed':
          return void handler.notify.toolsChanged();
        case 'notifications/prompts/list_changed':
          return void handler.notify.promptsChanged();
        case 'notifications/resources/list_changed':
          return void handler.notify.resourcesChanged();
        case 'notifications/resources/updated':
          return void handler.notify.resourceUpdated(String(params.uri));
      }
    },
    close: async () => {
      closed = true;
      leave(tasks);
      await handler.close();
      await listens.close();
      serving.followers.close();
      await serving.inFlight.close();
    },
  };
}

/** Nothing is read of a request before its token is known to be good. */
function guarded(
  auth: Authentication,
  tasks: Tasks,
  { principal }: ServingOptions,
  serve: McpHttpHandler['fetch'],
): McpHttpHandler['fetch'] {
  const { engine, logger } = tasks;
  const admit = gate(auth, { logger, trouble: troubleLogOf(tasks), ownPrincipal: principal !== undefined });
  return async (request, requestOptions) => {
    const told = auth.metadata?.(request);
    if (told !== undefined) return told;
    const admitted = await admit(request);
    if (admitted instanceof Response) return admitted;
    const response = await serve(request, { ...requestOptions, authInfo: admitted });
    return endingWithToken(engine.clock, request, response, admitted);
  };
}

/** The factory as the SDK calls it, with tasks attached to what it makes. */
export function withTasks(tasks: Tasks, factory: TaskServerFactory | FrontFactory, serving: Serving): McpServerFactory {
  return async (ctx) => {
    const made = await factory(ctx);
    const { era, requestInfo, authInfo } = ctx;
    const principal = principalIfKnown(serving.principalOf, authInfo);
    const session =
      era === 'legacy' && requestInfo !== undefined ? await sessionOf(tasks, requestInfo, principal) : undefined;
    // Told by a header that the SDK holds against the body: polls are many, and tools cost time to register.
    const polled = era === 'modern' ? isTaskMethod(requestInfo?.headers.get(METHOD_HEADER)) : isAboutTask(requestInfo);
    const list = principal !== undefined && mayList(principal);
    const host = made instanceof FrontServer ? frontHost(made) : hostOn(made);
    attach(host, tasks, serving, { era, list, session, connected: requestInfo === undefined, polled });
    return made instanceof FrontServer ? made.server : made;
  };
}

/** The session a request says it belongs to; without one, all that is known is the version it names. */
async function sessionOf(
  tasks: Tasks,
  { headers }: Request,
  principal: Principal | undefined,
): Promise<Session | undefined> {
  const id = headers.get(SESSION_HEADER);
  const session = id === null || principal === undefined ? undefined : await openSession(tasks, id, principal);
  if (session !== undefined) return session;
  const version = headers.get(VERSION_HEADER);
  return version === null ? undefined : sessionless(version);
}
