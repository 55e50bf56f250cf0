import { randomUUID } from 'node:crypto';
import { isJsonObject } from '../core/index.ts';
import { encodeInitialize, type Session } from '../wire/rev2025-11-25/index.ts';
import type { JSONRPCMessage, RequestId, Transport, TransportSendOptions } from './sdk.ts';

const ID_PREFIX = 'lcx-';
const HELLO_ID = 'longcall-initialize';
const CANCELLED = 'notifications/cancelled';

interface Waiting {
  sessionId: string;
  deliver(response: JSONRPCMessage): void;
}

/**
 * Makes the server's own tools at home in a session, though each request of it is served by an instance of its own: the
 * instance is told what was agreed at `initialize`, and what it asks the client (elicitation, sampling, roots) goes out
 * under an id by which the answer, which comes as another request, finds back to it. In memory: a question of a tool that
 * is no task dies with its process, as the call it belongs to does.
 */
export class Relay {
  readonly #waiting = new Map<string, Waiting>();

  /** Questions that wait for their answer. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Changes the transport of one request in place, before the instance is connected to it. */
  join(transport: Transport, session: Session): void {
    const own = new Map<RequestId, string>();
    let served: RequestId | undefined;
    let greeted = false;
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      onmessage?.(message, extra);
      if (greeted) return;
      greeted = true;
      if ('method' in message && 'id' in message) served = message.id;
      // By now this is the SDK's: it takes the one before the other.
      transport.onmessage?.({ jsonrpc: '2.0', id: HELLO_ID, ...encodeInitialize(session) } as JSONRPCMessage, extra);
    };
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!('method' in message)) return message.id === HELLO_ID ? Promise.resolve() : send(message, options);
      if ('id' in message) {
        if (isOurs(message.id)) return send(message, options);
        const id = ID_PREFIX + randomUUID();
        own.set(message.id, id);
        this.#waiting.set(id, {
          sessionId: session.id,
          deliver: (response) => {
            own.delete(message.id);
            transport.onmessage?.({ ...response, id: message.id } as JSONRPCMessage);
          },
        });
        return send({ ...message, id }, on(served, options));
      }
      return send(message.method === CANCELLED ? renamed(message, own) : message, on(served, options));
    };
    transport.onclose = () => {
      for (const id of own.values()) this.#waiting.delete(id);
      onclose?.();
    };
  }

  /** Takes an answer to where it is waited for. @returns false: the message is something else */
  take(sessionId: string, message: unknown): boolean {
    if (!isJsonObject(message) || 'method' in message || typeof message.id !== 'string') return false;
    if (!message.id.startsWith(ID_PREFIX)) return false;
    const waiting = this.#waiting.get(message.id);
    // Late, or of somebody else's session: nobody waits for it.
    if (waiting === undefined || waiting.sessionId !== sessionId) return true;
    this.#waiting.delete(message.id);
    waiting.deliver(message as unknown as JSONRPCMessage);
    return true;
  }
}

/** There is no stream but that of the one request; what belongs to none would be dropped. */
function on(served: RequestId | undefined, options: TransportSendOptions = {}): TransportSendOptions {
  return options.relatedRequestId !== undefined || served === undefined
    ? options
    : { ...options, relatedRequestId: served };
}

/** Questions of tasks have ids that mean something already. */
function isOurs(id: RequestId): boolean {
  return typeof id === 'string' && id.startsWith('lc-');
}

/** The withdrawal of a question, by the id under which the client knows it. */
function renamed(message: JSONRPCMessage, own: ReadonlyMap<RequestId, string>): JSONRPCMessage {
  const { params } = message as { params?: { requestId?: RequestId } };
  const id = params?.requestId === undefined ? undefined : own.get(params.requestId);
  return id === undefined ? message : ({ ...message, params: { ...params, requestId: id } } as JSONRPCMessage);
}
