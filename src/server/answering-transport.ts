import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { Tasks } from '../engine/index.ts';
import type { Serving } from './serving.ts';
import { takingAnswers } from './taking-answers.ts';

/** A transport that keeps answers to requests of ours to itself. */
export function answeringTransport(transport: Transport, tasks: Tasks, serving: Serving): Transport {
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
  transport.onmessage = takingAnswers(tasks, serving, {
    hear: (message: JSONRPCMessage, extra?: MessageExtraInfo) => outer.onmessage?.(message, extra),
    send: (message) => outer.send(message as JSONRPCMessage),
  });
  return outer;
}
