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
      const { headers, requestTimeoutMs, resetTimeoutOnProgress = false } = context;
      const patience = new Patience(clock, requestTimeoutMs, request.method);
      const unlisten = resetTimeoutOnProgress ? connection.listen(progressOf(params, patience)) : () => {};
      try {
        const asking = { signal: signal === undefined ? patience.signal : AbortSignal.any([signal, patience.signal]) };
        const result = await connection.request(request.method, params, { ...asking, ...(headers && { headers }) });
        return { kind: 'result', result };
      } catch (error) {
        if (error instanceof RemoteRefusedError) return { kind: 'error', error: error.rpc };
        throw error;
      } finally {
        unlisten();
        patience.over();
      }
    },
  };
}

/** Gives a request up that takes too long. */
class Patience {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number | undefined;
  readonly #method: string;
  #cancel: () => void = () => {};

  constructor(clock: Clock, ms: number | undefined, method: string) {
    this.#clock = clock;
    this.#ms = ms;
    this.#method = method;
    this.begin();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on, once more. */
  begin(): void {
    this.over();
    const ms = this.#ms;
    if (ms === undefined) return;
    const late = new Error(`no answer to ${this.#method} within ${ms} ms`);
    const timer = this.#clock.setTimer(ms, () => this.#controller.abort(late));
    this.#cancel = () => timer.cancel();
  }

  over(): void {
    this.#cancel();
    this.#cancel = () => {};
  }
}

/** Hears the progress of one request; it stays for everybody else to hear. */
function progressOf({ _meta }: JsonObject, patience: Patience): (message: JsonObject) => boolean {
  const token = isJsonObject(_meta) ? _meta.progressToken : undefined;
  return ({ method, params }) => {
    const its = method === 'notifications/progress' && isJsonObject(params) && params.progressToken === token;
    if (its && token !== undefined) patience.begin();
    return false;
  };
}
