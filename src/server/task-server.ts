import {
  type Implementation,
  type McpHandlerRequestOptions,
  McpServer,
  type ServerOptions,
} from '@modelcontextprotocol/server';
import { stopOnSignals, type Tasks } from '../engine/index.ts';
import { closedResponse } from './closed.ts';
import {
  type AnnouncingHandler,
  type FrontFactory,
  type TaskHandlerOptions,
  type TaskServerFactory,
  taskHandler,
} from './handler.ts';
import type { TakeHook } from './hooks.ts';
import { leave } from './leaving.ts';
import { isLoopback, type Listening, type ListenOptions, listen } from './listen.ts';
import { defaultPrincipal } from './principal.ts';
import { type StdioTaskServer, serveTaskStdio } from './stdio.ts';

const ANONYMOUS_NOTE =
  'nobody who calls from another machine can be told apart: there are no task lists, whoever knows a task id has the task, ' +
  'and tasks live for a day where nothing else is asked for';

export interface TaskServerOptions extends TaskHandlerOptions {
  /** Told to clients: how to use the tools together. */
  instructions?: string;
  /** Verifies the state that `prepare` hooks hand out between the rounds of a call, as the SDK's servers do. */
  requestState?: NonNullable<ServerOptions['requestState']>;
}

/** An MCP server for the tools of `tasks`, on whichever transports are asked for. */
export interface TaskServer extends AsyncDisposable {
  /** Serves Streamable HTTP on a port of its own. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Serves one client over stdin and stdout. */
  stdio(): StdioTaskServer;
  /**
   * Serves Streamable HTTP inside an HTTP server of yours, which checks Host and Origin, and tokens unless there is `auth`.
   * @param options what a verified token says, as `authInfo`; tasks then belong to its issuer and subject
   */
  fetch(request: Request, options?: McpHandlerRequestOptions): Promise<Response>;
  /**
   * Stops serving, lets running tasks finish for `drainMs`, hands back the rest, closes the store. Inside an HTTP server of
   * yours, close that afterwards: until then, requests are answered 503.
   */
  close(): Promise<void>;
}

/**
 * Serves the tools of `tasks` and nothing else. For servers with tools, prompts and resources of their own, see
 * `createTaskHandler` and `serveTaskStdio`.
 * @param info name and version of your server, as clients see them
 */
export function createTaskServer(tasks: Tasks, info: Implementation, options: TaskServerOptions = {}): TaskServer {
  if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
    throw new TypeError("createTaskServer: info must have a name and a version, e.g. { name: 'ci', version: '1.0.0' }");
  }
  const { instructions, requestState } = options;
  const serverOptions: ServerOptions = {
    capabilities: { tools: {} },
    ...(instructions !== undefined && { instructions }),
    ...(requestState !== undefined && { requestState }),
  };
  return serveFactory(tasks, () => new McpServer(info, serverOptions), options);
}

/** A server that can tell those who listen of something that is about no task. */
export interface AnnouncingServer extends TaskServer {
  announce: AnnouncingHandler['announce'];
  /** @param options.drainMs how long running tasks may go on @default the option of `createTasks` */
  close(options?: { drainMs?: number }): Promise<void>;
}

/**
 * Serves whatever servers the factory makes on the transports that are asked for.
 * @param hooks takes what services send to the ports that are listened on
 */
export function serveFactory(
  tasks: Tasks,
  factory: TaskServerFactory | FrontFactory,
  options: TaskHandlerOptions,
  hooks?: TakeHook,
): AnnouncingServer {
  const listeners: Listening[] = [];
  const handlers: AnnouncingHandler[] = [];
  const handler = (handlerOptions: TaskHandlerOptions): AnnouncingHandler => {
    const made = taskHandler(tasks, factory, handlerOptions);
    handlers.push(made);
    return made;
  };
  let embedded: AnnouncingHandler | undefined;
  let stdio: StdioTaskServer | undefined;
  let removeHandlers: (() => void) | undefined;
  let closed = false;

  return {
    async listen(listenOptions = {}) {
      // First of all: from its start on the worker may hold tasks, which a signal must not cost an attempt.
      if (options.signals !== false) removeHandlers ??= stopOnSignals(() => this.close());
      await tasks.start(); // A store that cannot be opened is told here, not to the first caller.
      const reach = isLoopback(listenOptions.host ?? '127.0.0.1') ? 'local' : 'open';
      const auth = listenOptions.auth ?? options.auth;
      const guessed = auth === undefined && options.principal === undefined;
      if (reach === 'open' && guessed) tasks.logger.warn({}, ANONYMOUS_NOTE);
      const { fetch } = handler({
        ...options,
        ...(auth !== undefined && { auth }),
        ...(guessed && { principal: defaultPrincipal(reach) }),
      });
      const { logger } = tasks;
      const listening = await listen((request) => fetch(request), {
        ...listenOptions,
        ...(auth && { auth }),
        logger,
        hooks,
      });
      listeners.push(listening);
      return listening;
    },
    stdio() {
      stdio ??= serveTaskStdio(tasks, factory, options);
      return stdio;
    },
    async fetch(request, requestOptions) {
      if (closed) return closedResponse();
      embedded ??= handler(options);
      return embedded.fetch(request, requestOptions);
    },
    announce(notification, to) {
      for (const one of handlers) one.announce(notification, to);
    },
    async close(how = {}) {
      closed = true;
      leave(tasks);
      removeHandlers?.();
      // Nothing new comes in, while streams that are open get their last word.
      await Promise.all([...listeners.splice(0), ...handlers.splice(0)].map((open) => open.close()));
      await stdio?.close();
      await tasks.close(how);
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}
