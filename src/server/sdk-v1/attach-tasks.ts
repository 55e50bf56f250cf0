import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Tasks } from '../../engine/index.ts';
import { attach } from '../attach.ts';
import { defaultPrincipal, type PrincipalOf } from '../principal.ts';
import { type ServingOptions, servingOf } from '../serving.ts';
import { answers, hostOn } from './host.ts';

/** How tasks are served on a server of the SDK's version 1. */
export interface AttachTasksOptions extends Omit<ServingOptions, 'principal' | 'signals' | 'inlineWithinMs'> {
  /**
   * Whose tasks a request may touch. @default issuer and subject of the verified token; without a token the local principal
   * on stdio, and nobody in particular over HTTP
   */
  principal?: PrincipalOf;
}

/**
 * Puts the tools of `tasks` on a server of `@modelcontextprotocol/sdk` 1.x, together with everything that clients of
 * 2025-11-25 and earlier need for tasks. To be called before `connect`, on every server that is made; its own tools, prompts
 * and resources stay, and so does the transport, whichever it is.
 *
 * Tasks belong to issuer and subject of the token that the transport verified (`req.auth`), never to a session. Without one
 * the caller is the local principal on stdio and in memory, and nobody in particular over HTTP, where whoever knows a task id
 * has the task and lists are not offered; `principal` says otherwise. Start the work of this process with `tasks.start()`, and
 * end it with `tasks.close()`.
 * @throws {TypeError} {RangeError} naming what cannot work: an option, a server that is connected already, or one that
 *   answers `tasks/…` itself since it has a `taskStore`.
 */
export function attachTasks(server: McpServer, tasks: Tasks, options: AttachTasksOptions = {}): void {
  if (typeof server?.registerTool !== 'function' || typeof server.server?.setRequestHandler !== 'function') {
    throw new TypeError(
      'attachTasks: server must be an McpServer of @modelcontextprotocol/sdk 1.x; its Server alone has no tools to add to',
    );
  }
  if (server.server.transport !== undefined) {
    throw new TypeError('attachTasks: the server is connected already; call attachTasks before server.connect(…)');
  }
  if (answers(server, 'tasks/get')) {
    throw new TypeError(
      'attachTasks: the server answers tasks/get by itself, from its own taskStore, so that tasks of Longcall could not be ' +
        'found. Make it without taskStore and register those tools with tasks.registerTool(…), or leave attachTasks out',
    );
  }
  const serving = servingOf(tasks, options, (caller) => defaultPrincipal(host.overHttp ? 'open' : 'local')(caller));
  const host = hostOn(server, tasks, serving);
  attach(host, tasks, serving, { era: 'legacy', list: true, connected: true, polled: false });
}
