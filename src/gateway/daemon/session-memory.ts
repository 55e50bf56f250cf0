import { isJsonObject, type JsonObject } from '../../core/index.ts';

/** Of a message that is remembered. */
const MAX_BYTES = 256 * 1024;
const MAX_SUBSCRIPTIONS = 1_000;

/**
 * What a host of a revision with sessions has said once and for all, to be said again to a new daemon. From 2026-07-28 on
 * every request says it, and there is nothing to remember.
 */
export class SessionMemory {
  #initialize: JsonObject | undefined;
  #initialized: JsonObject | undefined;
  #level: JsonObject | undefined;
  readonly #subscriptions = new Map<string, JsonObject>();

  /** What the host says, by its method. */
  note(method: string, line: Buffer): void {
    switch (method) {
      case 'initialize':
        this.#initialize = remembered(line);
        this.#initialized = undefined;
        this.#level = undefined;
        this.#subscriptions.clear();
        return;
      case 'notifications/initialized':
        this.#initialized = remembered(line);
        return;
      case 'logging/setLevel':
        this.#level = remembered(line);
        return;
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        this.#subscribe(method, remembered(line));
        return;
    }
  }

  #subscribe(method: string, message: JsonObject | undefined): void {
    const params = message?.['params'];
    const uri = isJsonObject(params) ? params['uri'] : undefined;
    if (message === undefined || typeof uri !== 'string') return;
    if (method === 'resources/unsubscribe') this.#subscriptions.delete(uri);
    else if (this.#subscriptions.size < MAX_SUBSCRIPTIONS) this.#subscriptions.set(uri, message);
  }

  /** All of it in order; nothing where there is no session. */
  get messages(): JsonObject[] {
    if (this.#initialize === undefined) return [];
    const rest = [this.#initialized, this.#level, ...this.#subscriptions.values()];
    return [this.#initialize, ...rest.filter((message) => message !== undefined)];
  }
}

function remembered(line: Buffer): JsonObject | undefined {
  const message = line.length > MAX_BYTES ? undefined : jsonOf(line);
  return isJsonObject(message) ? message : undefined;
}

/** Nothing where it is none. */
export function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}
