import {
  createMcpHandler,
  type McpHttpHandler,
  type McpServer,
  type McpServerFactory,
} from '@modelcontextprotocol/server';
import { DEFAULTS } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import { attach } from './attach.ts';
import { withoutNullId } from './error-body.ts';
import { defaultPrincipal, type PrincipalOf } from './principal.ts';
import { withRetryAfter } from './too-many-requests.ts';

/** Makes a server for one request (HTTP) or one connection (stdio); its own tools, prompts and resources stay. */
export type TaskServerFactory = (ctx: Parameters<McpServerFactory>[0]) => McpServer | Promise<McpServer>;

export interface ServingOptions {
  /**
   * Whose tasks a request may touch. @default issuer and subject of the verified token; the local principal where there
   * is no authentication
   */
  principal?: PrincipalOf;
  /** Offer each task, its log and its result as `longcall://tasks/{id}` resources, to its owner. @default true */
  resources?: boolean;
  /**
   * Drain on the first SIGTERM or SIGINT, then exit; a second one exits at once. Only where this library owns the
   * listener or stdio. @default true
   */
  signals?: boolean;
}

export interface TaskHandlerOptions extends ServingOptions {
  /** Bytes of a request body; larger ones are answered 413. @default 4 MiB */
  maxRequestBytes?: number;
}

/**
 * Serves an `McpServer` of your own together with the tools of `tasks`, like the SDK's `createMcpHandler`.
 *
 * The handler checks neither Host nor Origin nor tokens: mount it behind what does, or use
 * `createTaskServer(…).listen()`, which does.
 * @param factory called per request, as the SDK's own handler calls it
 */
export function createTaskHandler(
  tasks: Tasks,
  factory: TaskServerFactory,
  options: TaskHandlerOptions = {},
): McpHttpHandler {
  const principalOf = options.principal ?? defaultPrincipal('local');
  const handler = createMcpHandler(withTasks(tasks, factory, principalOf, options.resources), {
    maxRequestBodySize: options.maxRequestBytes ?? DEFAULTS.maxArgumentBytes,
    onerror: (error) => tasks.logger.info({ error }, 'a request was refused or broke off'),
  });
  return {
    ...handler,
    fetch: async (request, requestOptions) =>
      withRetryAfter(request, await withoutNullId(await handler.fetch(request, requestOptions))),
  };
}

/** The factory as the SDK calls it, with tasks attached to what it makes. */
export function withTasks(
  tasks: Tasks,
  factory: TaskServerFactory,
  principalOf: PrincipalOf,
  resources = true,
): McpServerFactory {
  return async (ctx) => {
    const mcp = await factory(ctx);
    attach(mcp, tasks, { era: ctx.era, principalOf, resources });
    return mcp;
  };
}
