import type { Client } from '@modelcontextprotocol/client';
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type RandomSource,
  type RpcErrorObject,
  systemClock,
  systemRandom,
} from '../core/index.ts';
import { Connection } from './connection.ts';
import { RemoteRefusedError } from './remote-errors.ts';

export interface ExtTasksOptions {
  /** Who asks, as the client was made with. */
  info: { name: string; version: string };
  /** What the client was made to declare. @default nothing */
  capabilities?: JsonObject;
  clock?: Clock;
  random?: RandomSource;
}

/** What `@modelcontextprotocol/ext-tasks` says of one request beside the request. */
export interface ExtTasksDispatch {
  signal?: AbortSignal;
  context?: {
    headers?: Readonly<Record<string, string>>;
    requestTimeoutMs?: number;
    resetTimeoutOnProgress?: boolean;
  };
}

export type ExtTasksAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly error: RpcErrorObject };

/** The two options of its sessions on 2026-07-28 that nobody else supplies; neither on what came before. */
export type ExtTasksParts =
  | {
      readonly rawDispatch: (request: unknown, options?: ExtTasksDispatch) => Promise<ExtTasksAnswer>;
      readonly v2RequestFraming: {
        readonly protocolVersion: string;
        readonly clientInfo: JsonObject;
        readonly clientCapabilities: JsonObject;
      };
    }
  | { readonly rawDispatch?: undefined; readonly v2RequestFraming?: undefined };

/**
 * For users of the official session API: `createTaskSessionFromClient(client, { endpointId, ...forExtTasks(client, { info }) })`.
 * Its requests go over the connected client's own transport, past what the client would refuse to read.
 * @throws {TypeError} when the client is not connected.
 */
export function forExtTasks(client: Client, options: ExtTasksOptions): ExtTasksParts {
  const { info, capabilities = {}, clock = systemClock, random = systemRandom } = options;
  const { transport } = client;
  const protocolVersion = client.getNegotiatedProtocolVersion();
  if (transport === undefined || protocolVersion === undefined)
    throw new TypeError('client: expected one that is connected');
  if (client.getProtocolEra() !== 'modern') return {};
  const connection = new Connection(transport, { clock, random });
  return {
    v2RequestFraming: { protocolVersion, clientInfo: { ...info }, clientCapabilities: capabilities },
    async rawDispatch(request, { signal, context = {} } = {}) {
      if (!isJsonObject(request) || typeof request.method !== 'string')
        throw new TypeError('request: a JSON-RPC request');
      const params = isJsonObject(request.params) ? request.params : {};
      const { headers, requestTimeoutMs: timeoutMs, resetTimeoutOnProgress = false } = context;
      const { progressToken } = isJsonObject(params._meta) ? params._meta : {};
      try {
        const result = await connection.request(request.method, params, {
          signal,
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(resetTimeoutOnProgress && { renewedBy: progressToken }),
          ...(headers !== undefined && { headers }),
        });
        return { kind: 'result', result };
      } catch (error) {
        if (error instanceof RemoteRefusedError) return { kind: 'error', error: error.rpc };
        throw error;
      }
    },
  };
}
