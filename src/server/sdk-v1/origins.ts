import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js';
import { type Principal, Recent } from '../../core/index.ts';
import { STATUS_NOTIFICATION } from '../../wire/rev2025-11-25/index.ts';
import { defaultPrincipal, type PrincipalOf } from '../principal.ts';
import { beforeStart } from './oversight.ts';

export interface OwnTasksOptions {
  /**
   * Whose tasks a request may touch, by what the SDK knows of its caller. @default issuer and subject of the token
   * (`authInfo.extra.iss`, `authInfo.extra.sub`); without a token the local principal on stdio, and nobody in particular over
   * HTTP
   */
  principal?: PrincipalOf;
}

/** The request that some code runs for, found by its asynchronous context. */
export interface Origin {
  method: string;
  /** @throws whatever `principal` throws, when nobody can say whose request it is. */
  principal(): Principal;
  /** Not answered yet. What goes on after the answer is work of the server's own, and no peer sees what it reads. */
  live: boolean;
}

/** What has a `connect`: a `Server`, or anything that is built on one. */
interface Connecting {
  connect(transport: Transport, ...more: never[]): Promise<void>;
  notification?(notification: { method: string }, ...more: never[]): Promise<void>;
  onerror?: ((error: Error) => void) | undefined;
}

/** Requests of one connection that wait for their answer at once; older ones count as waiting for ever. */
const WAITING = 10_000;

/** An id that was used twice at once: from then on no answer under it says which request it is for. */
const CONTESTED = 'contested';

const running = new AsyncLocalStorage<Origin | undefined>();
const owned = new WeakSet<Connecting>();

/** The request that this code runs for, or went on from. */
export function originOf(): Origin | undefined {
  return running.getStore();
}

/**
 * Makes a server of the SDK's version 1 tell whose request it serves, which its `TaskStore` is not told: by this, tasks of a
 * `durableTaskStore` belong to the principal of the request that created them. Call it before `connect`; without it the
 * store takes no tasks.
 * @returns the same server
 * @throws {TypeError} when the server is connected already.
 */
export function ownTasks<Server extends Connecting | { server: Connecting }>(
  server: Server,
  options: OwnTasksOptions = {},
): Server {
  // An `McpServer` connects by the `Server` inside of it.
  const connecting: Connecting = 'server' in server ? server.server : server;
  if (typeof connecting?.connect !== 'function') {
    throw new TypeError("ownTasks: server must be an McpServer or Server of '@modelcontextprotocol/sdk'");
  }
  if (options.principal !== undefined && typeof options.principal !== 'function') {
    throw new TypeError(`ownTasks: principal must be a function, got ${typeof options.principal}`);
  }
  if ((connecting as { transport?: unknown }).transport !== undefined) {
    throw new TypeError('ownTasks: call it before connect');
  }
  if (owned.has(connecting)) return server;
  owned.add(connecting);
  const connect = connecting.connect.bind(connecting);
  connecting.connect = (transport, ...more) => connect(watched(transport, options.principal), ...more);
  letWorkOutlive(connecting);
  return server;
}

/**
 * After each word of the work the SDK tells the client how its task stands, and fails the word if that cannot be sent. Tasks
 * here outlive the connection they came by: what nobody is left to hear is for `onerror`, and no fault of the work.
 */
function letWorkOutlive(server: Connecting): void {
  const notify = server.notification?.bind(server);
  if (notify === undefined) return;
  server.notification = async (notification, ...more) => {
    try {
      await notify(notification, ...more);
    } catch (error) {
      if (notification.method !== STATUS_NOTIFICATION) throw error;
      server.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  };
}

/** In place, so that a transport stays the object its maker knows. */
function watched(transport: Transport, principalOf: PrincipalOf | undefined): Transport {
  const waiting = new Recent<unknown, Origin | typeof CONTESTED>(WAITING);
  const answered = (id: unknown): void => {
    const origin = waiting.get(id);
    if (origin === undefined || origin === CONTESTED) return;
    origin.live = false;
    waiting.delete(id);
  };
  beforeStart(transport, () => {
    const { onmessage } = transport;
    if (onmessage === undefined) return;
    transport.onmessage = (message, extra) => {
      const handle = () => onmessage(message, extra);
      if (!isRequest(message)) {
        // Its answer will not come; the code that runs for it still does.
        if (isCancelled(message)) waiting.delete(message.params.requestId);
        return running.run(undefined, handle);
      }
      const origin = originFor(message.method, transport, extra, principalOf);
      waiting.set(message.id, waiting.has(message.id) ? CONTESTED : origin);
      return running.run(origin, handle);
    };
  });
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('result' in message || 'error' in message) answered(message.id);
    return send(message, options);
  };
  return transport;
}

function originFor(
  method: string,
  transport: Transport,
  extra: MessageExtraInfo | undefined,
  principalOf: PrincipalOf | undefined,
): Origin {
  const overHttp = extra?.requestInfo !== undefined || transport.sessionId !== undefined;
  const whose = principalOf ?? defaultPrincipal(overHttp ? 'open' : 'local');
  const auth = extra?.authInfo;
  return { method, principal: () => whose({ auth }), live: true };
}

function isRequest(message: JSONRPCMessage): message is JSONRPCMessage & { method: string; id: string | number } {
  return 'method' in message && 'id' in message;
}

function isCancelled(message: JSONRPCMessage): message is JSONRPCMessage & { params: { requestId: unknown } } {
  return 'method' in message && message.method === 'notifications/cancelled' && message.params !== undefined;
}
