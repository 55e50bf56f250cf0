import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { Tasks } from '../engine/index.ts';
import { principalIfKnown } from './principal.ts';
import type { Serving } from './serving.ts';

/**
 * A transport that keeps answers to requests of ours to itself: the SDK knows nothing of those requests, and would call
 * each answer an error.
 */
export function answeringTransport(transport: Transport, tasks: Tasks, { desk, principalOf }: Serving): Transport {
  const outer: Transport = {
    start: () => transport.start(),
    send: (message: JSONRPCMessage, options?: TransportSendOptions) => transport.send(message, options),
    close: () => transport.close(),
    ...(transport.setProtocolVersion !== undefined && {
      setProtocolVersion: (version: string) => transport.setProtocolVersion?.(version),
    }),
  };
  transport.onclose = () => outer.onclose?.();
  transport.onerror = (error) => outer.onerror?.(error);
  transport.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
    if ('method' in message || typeof message.id !== 'string') {
      outer.onmessage?.(message, extra);
      return;
    }
    desk
      .take(message, principalIfKnown(principalOf, undefined))
      .then((taken) => {
        if (!taken) outer.onmessage?.(message, extra);
      })
      .catch((error) => tasks.logger.warn({ error }, 'an answer could not be looked at'));
  };
  return outer;
}
