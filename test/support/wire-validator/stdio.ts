import type { Transport } from '@modelcontextprotocol/client';
import type { WireConnection } from './connection.ts';
import { isObject } from './json.ts';
import { WireViolationError } from './violation.ts';

type Handler = NonNullable<Transport['onmessage']>;

/**
 * Checks all that a client's transport receives. It is changed in place, so that what it is an instance of still holds. A
 * request that gets a bad answer fails at once; other bad messages go to `onerror`.
 */
export function tapTransport<T extends Transport>(transport: T, connection: WireConnection): T {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    connection.observeRequest(message);
    await send(message, options);
  };
  // Clients chain the handlers they find, so that a message may come by more than once.
  const checked = new WeakMap<object, object>();
  const check = (message: object): object => {
    let delivered = checked.get(message);
    if (!delivered) {
      delivered = verdict(message);
      checked.set(message, delivered);
      checked.set(delivered, delivered);
    }
    return delivered;
  };
  const verdict = (message: object): object => {
    try {
      connection.checkOutgoing(message);
      return message;
    } catch (error) {
      if (!(error instanceof WireViolationError)) throw error;
      transport.onerror?.(error);
      if (!isObject(message) || 'method' in message || !('id' in message)) return message;
      return { jsonrpc: '2.0', id: message['id'], error: { code: -32603, message: `WireViolation: ${error.message}` } };
    }
  };
  let handler: Handler | undefined = wrap(transport.onmessage);
  function wrap(inner: Handler | undefined): Handler | undefined {
    return inner && ((message, extra) => inner(check(message) as typeof message, extra));
  }
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    enumerable: true,
    get: () => handler,
    set: (inner: Handler | undefined) => {
      handler = wrap(inner);
    },
  });
  return transport;
}
