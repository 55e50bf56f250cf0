import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../core/index.ts';
import { isHeaderMismatch, type Mirrored, mirroredArguments, mirrorHeaders } from '../wire/rev2026-07-28/mirrored.ts';
import type { Asking, Connection } from './connection.ts';
import { RemoteRefusedError } from './remote-errors.ts';
import { toolPages } from './tool-list.ts';

/**
 * Repeats arguments of calls in headers, where their tool declares that. What is declared is learnt from lists that somebody
 * reads anyway; where a server misses a header, its list is read, and the call sent again: nothing was done by the first.
 * @see 2026-07-28 transports, "Custom Headers from Tool Parameters"
 */
export class Mirroring {
  readonly #connection: Connection;
  readonly #list: (params: JsonObject) => Promise<JsonObject>;
  readonly #tools = new Map<string, readonly Mirrored[]>();

  /** @param list sends one `tools/list` */
  constructor(connection: Connection, list: (params: JsonObject) => Promise<JsonObject>) {
    this.#connection = connection;
    this.#list = list;
  }

  /** As that of the connection. */
  async request(method: string, params: JsonObject, asking: Asking = {}): Promise<JsonObject> {
    if (method === 'tools/call' && this.#connection.hasStreams) return this.#call(params, asking);
    const result = await this.#connection.request(method, params, asking);
    if (method === 'tools/list' && Array.isArray(result.tools)) for (const tool of result.tools) this.#learn(tool);
    return result;
  }

  async #call(params: JsonObject, asking: Asking): Promise<JsonObject> {
    const headers = this.#headersOf(params);
    try {
      return await this.#connection.request('tools/call', params, { ...asking, headers });
    } catch (error) {
      if (!(error instanceof RemoteRefusedError) || !isHeaderMismatch(error.rpc)) throw error;
      for await (const tool of toolPages(this.#list)) this.#learn(tool);
      const expected = this.#headersOf(params);
      if (isDeepStrictEqual(headers, expected)) throw error;
      const id = this.#connection.nextId();
      return await this.#connection.request('tools/call', params, { ...asking, id, headers: expected });
    }
  }

  #headersOf({ name, arguments: args }: JsonObject): Record<string, string> {
    return mirrorHeaders(this.#tools.get(String(name)) ?? [], args);
  }

  #learn(tool: unknown): void {
    if (!isJsonObject(tool) || typeof tool.name !== 'string') return;
    const mirrored = mirroredArguments(tool.inputSchema);
    if (mirrored.length > 0) this.#tools.set(tool.name, mirrored);
    else this.#tools.delete(tool.name);
  }
}
