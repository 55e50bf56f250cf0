import { isJsonObject, Recent } from '../core/index.ts';
import type { JSONRPCMessage, RequestId, Transport } from './sdk.ts';

const CANCELLED = 'notifications/cancelled';
/** Of so many calls whose stream broke it is remembered how to call them off. */
const MAX_CUT = 1_000;

/**
 * The requests before 2026-07-28 that are being served over HTTP. Each has a server instance of its own, so that the one
 * which receives `notifications/cancelled` is never the one it is about.
 */
export class InFlight {
  readonly #requests = new Map<string, Transport>();
  readonly #transports = new Set<Transport>();
  readonly #callOff = new Recent<string, (reason: unknown) => void>(MAX_CUT);
  /** Calls that were called off before it was known how, and why: their tasks were being created. */
  readonly #calledOff = new Recent<string, { reason: unknown }>(MAX_CUT);

  get size(): number {
    return this.#requests.size;
  }

  /**
   * Follows the requests that come over a transport, until they are answered or it closes. Changes it in place.
   * @param sessionId empty where there is none: then nothing says whose requests they are
   */
  watch(sessionId: string, transport: Transport): void {
    this.#transports.add(transport);
    const own = new Set<string>();
    const over = (key: string): void => {
      own.delete(key);
      if (this.#requests.get(key) === transport) this.#requests.delete(key);
    };
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      if ('method' in message && 'id' in message && sessionId !== '') {
        const key = keyOf(sessionId, message.id);
        own.add(key);
        this.#calledOff.delete(key); // What that was about is over: some use an id again.
        this.#requests.set(key, transport);
      }
      onmessage?.(message, extra);
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!('method' in message) && message.id !== undefined) over(keyOf(sessionId, message.id));
      return send(message, options);
    };
    transport.onclose = () => {
      this.#transports.delete(transport);
      for (const key of [...own]) over(key);
      onclose?.();
    };
  }

  /** Ends the streams of all requests that wait: their clients ask again when there is somebody to ask. */
  async close(): Promise<void> {
    await Promise.all([...this.#transports].map((transport) => transport.close().catch(() => {})));
  }

  /**
   * What a request began may outlive its stream: some hosts close that first, and then say that they cancel.
   * @returns the function to call when the request is answered: from then on there is nothing to cancel
   */
  outlives(sessionId: string, requestId: RequestId, callOff: (reason: unknown) => void): () => void {
    if (sessionId === '') return () => {};
    const key = keyOf(sessionId, requestId);
    const calledOff = this.#calledOff.get(key);
    if (calledOff !== undefined) {
      this.#calledOff.delete(key);
      callOff(calledOff.reason);
      return () => {};
    }
    this.#callOff.set(key, callOff);
    return () => {
      if (this.#callOff.get(key) === callOff) this.#callOff.delete(key);
    };
  }

  /**
   * Takes a `notifications/cancelled` to where the request it names is served; that of an answered request, as some hosts
   * send it after every call, is about nothing.
   */
  cancel(sessionId: string, message: unknown): void {
    if (!isJsonObject(message) || message.method !== CANCELLED || !isJsonObject(message.params)) return;
    const { requestId } = message.params;
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return;
    const key = keyOf(sessionId, requestId);
    const transport = this.#requests.get(key);
    if (transport === undefined) {
      const { reason } = message.params;
      const callOff = this.#callOff.get(key);
      if (callOff === undefined) this.#calledOff.set(key, { reason });
      callOff?.(reason);
      this.#callOff.delete(key);
      return;
    }
    transport.onmessage?.(message as unknown as JSONRPCMessage);
    // There is no answer to wait for, once the handler knows why.
    setImmediate(() => void transport.close().catch(() => {}));
  }
}

function keyOf(sessionId: string, requestId: RequestId): string {
  return `${sessionId} ${JSON.stringify(requestId)}`;
}
