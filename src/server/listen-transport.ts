import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { JsonValue, RpcErrorObject } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import {
  cancelledRequest,
  encodeCancelRequest,
  encodeListenCancelled,
  encodeListenResult,
  grantedBy,
  isListenRequest,
  type Listen,
  type ListenId,
  serverInfoOf,
  subscriptionOf,
  withoutFilter,
  withTasksGranted,
} from '../wire/rev2026-07-28/index.ts';
import { ListenDesk, type OpenListen } from './listen-desk.ts';
import { tellListening } from './listening.ts';
import type { Serving } from './serving.ts';

/** A subscription on a connection. Those without tasks are followed too, since each has to be ended in the same way. */
interface Subscription {
  listen: Listen | undefined;
  opened: OpenListen | undefined;
  /** It is over. */
  left: () => void;
  /** `asked`: the SDK has yet to answer; `taken back`: and whatever it answers is of no use any more. */
  state: 'asked' | 'taken back' | 'acknowledged';
  /** What is told of it before it is acknowledged; `undefined` afterwards. */
  early: JSONRPCMessage[] | undefined;
}

/**
 * A transport for one connection that adds tasks to its subscriptions. The SDK answers `subscriptions/listen` by itself
 * and knows nothing of tasks, so it is asked first, without them: what it refuses is refused, and what it acknowledges is
 * acknowledged with the tasks in it.
 */
export function listenTransport(transport: Transport, tasks: Tasks, serving: Serving): Transport {
  const desk = new ListenDesk(tasks, serving);
  const subscriptions = new Map<ListenId, Subscription>();
  let serverInfo: JsonValue | undefined;

  const send = (message: object, options?: TransportSendOptions): Promise<void> =>
    transport.send(message as JSONRPCMessage, options);
  const failed = (error: unknown): void =>
    tasks.logger.info({ error }, 'a subscriber could not be told how its subscription stands');
  const forget = (id: ListenId): void => {
    subscriptions.get(id)?.opened?.close();
    subscriptions.get(id)?.left();
    subscriptions.delete(id);
  };
  const takeBack = (id: ListenId): void => {
    const subscription = subscriptions.get(id);
    if (subscription?.state === 'asked') subscription.state = 'taken back';
    else forget(id);
  };
  /** Nothing more is to come of it, and the SDK need not know why. */
  const end = (id: ListenId, answer: object): Promise<void> => {
    forget(id);
    outer.onmessage?.(encodeCancelRequest(id) as unknown as JSONRPCMessage);
    return send(answer);
  };
  const refuse = (id: ListenId, error: RpcErrorObject): Promise<void> => end(id, { jsonrpc: '2.0', id, error });

  const acknowledge = async (listen: Listen, subscription: Subscription, message: JSONRPCMessage): Promise<void> => {
    const { id } = listen;
    const current = (): boolean => subscriptions.get(id) === subscription;
    const missing = desk.missing(listen);
    if (missing !== undefined) return refuse(id, missing);
    const nothingElse = Object.keys(grantedBy(message) ?? {}).length === 0;
    const over = (): void => {
      if (nothingElse && current()) end(id, encodeListenResult(id, serverInfo)).catch(failed);
    };
    const outlet = { room: () => Promise.resolve(), send };
    try {
      subscription.opened = await desk.open(listen, undefined, outlet, over);
    } catch (error) {
      return current() ? refuse(id, desk.refusal(error)) : undefined;
    }
    if (!current()) return subscription.opened.close(); // Taken back, or over, before it began.
    const early = subscription.early ?? [];
    subscription.early = undefined;
    await send(withTasksGranted(message, subscription.opened.granted));
    for (const one of early) await send(one);
    subscription.opened.start();
  };

  /** What goes out now, instead of a message; nothing where it goes out later, or otherwise. */
  const outgoing = (message: JSONRPCMessage): object[] => {
    if (!('method' in message)) {
      serverInfo = serverInfoOf(message) ?? serverInfo;
      const { id } = message;
      if (id === undefined || !subscriptions.has(id)) return [message];
      forget(id);
      return 'result' in message ? [encodeListenCancelled(id), message] : [message]; // A result: the SDK is closing.
    }
    const id = subscriptionOf(message);
    const subscription = id === undefined ? undefined : subscriptions.get(id);
    if (id === undefined || subscription?.early === undefined) return [message];
    const { listen, early, state } = subscription;
    if (grantedBy(message) === undefined) {
      early.push(message);
      return [];
    }
    subscription.state = 'acknowledged';
    if (state === 'taken back') {
      forget(id);
      return [];
    }
    if (listen !== undefined) {
      acknowledge(listen, subscription, message).catch(failed); // Meanwhile the SDK goes on.
      return [];
    }
    subscription.early = undefined;
    return [message];
  };

  const incoming = (message: JSONRPCMessage): JSONRPCMessage => {
    const cancelled = cancelledRequest(message);
    if (cancelled !== undefined) takeBack(cancelled);
    if (!isListenRequest(message)) return message;
    const listen = desk.read(message);
    forget(message.id);
    const left = tellListening(message, serving, undefined);
    subscriptions.set(message.id, { listen, opened: undefined, left, state: 'asked', early: [] });
    if (listen === undefined) return message;
    // Who may not ask for tasks is told so before anything is said about what else was asked for.
    const asked = desk.missing(listen) === undefined ? listen.rest : withoutFilter(listen.rest);
    return asked as unknown as JSONRPCMessage;
  };

  const forgetAll = (): void => {
    for (const id of [...subscriptions.keys()]) forget(id);
  };
  const outer: Transport = {
    start: () => transport.start(),
    send: async (message, options) => {
      for (const one of outgoing(message)) await send(one, options);
    },
    close: () => {
      forgetAll();
      return transport.close();
    },
    ...(transport.setProtocolVersion !== undefined && {
      setProtocolVersion: (version: string) => transport.setProtocolVersion?.(version),
    }),
  };
  transport.onclose = () => {
    forgetAll();
    outer.onclose?.();
  };
  transport.onerror = (error) => outer.onerror?.(error);
  transport.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) =>
    outer.onmessage?.(incoming(message), extra);
  return outer;
}
