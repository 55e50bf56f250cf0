import { isJsonObject } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import { keepArguments, withTasksOffered } from '../../wire/rev2025-11-25/index.ts';
import { isPromptListRequest, isToolListRequest, type Listings, withListings } from '../../wire/tool-list.ts';
import { principalIfKnown } from '../principal.ts';
import type { JSONRPCMessage, MessageExtraInfo, RequestId, Transport } from '../sdk.ts';
import type { Serving } from '../serving.ts';
import { takingAnswers } from '../taking-answers.ts';
import type { Connection } from './connection.ts';

/**
 * Looks at what comes and leaves, before the SDK and after it: what it does not know it is not shown, and what it could not
 * say is said in its place. Changes the transport in place.
 * @param listings of tools whose schemas are not of the SDK's kind
 */
export function oversee(connection: Connection, listings: Listings, tasks: Tasks, serving: Serving): void {
  const { transport } = connection;
  const lists = new Set<RequestId>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    let outgoing: unknown = message;
    if (connection.settle(message)) outgoing = withTasksOffered(message, connection.opener);
    if ('result' in message && lists.delete(message.id)) outgoing = withListings(outgoing, listings);
    return send(outgoing as JSONRPCMessage, options);
  };
  const { onmessage, onclose } = transport;
  transport.onmessage = takingAnswers(tasks, serving, {
    hear: (sent: JSONRPCMessage, extra?: MessageExtraInfo) => {
      const message = copied(sent);
      connection.note(message, extra ?? {}, (auth) => principalIfKnown(serving.principalOf, auth));
      keepArguments(message);
      if (isToolListRequest(message) || isPromptListRequest(message)) lists.add(message.id);
      onmessage?.(message, extra);
    },
    send: (message) => send(message as JSONRPCMessage, onStreamOf(message)),
  });
  transport.onclose = () => {
    connection.end();
    onclose?.();
  };
}

/** What is changed on its way must not be what its sender still holds, as it may in memory. */
function copied<Message extends JSONRPCMessage>(message: Message): Message {
  if (!('params' in message) || !isJsonObject(message.params)) return message;
  const { _meta } = message.params;
  return { ...message, params: { ...message.params, ...(isJsonObject(_meta) && { _meta: { ..._meta } }) } };
}

/** In place, once the SDK has put its own handlers on the transport and before the first message can come. */
export function beforeStart(transport: Pick<Transport, 'start'>, change: () => void): void {
  const start = transport.start.bind(transport);
  transport.start = () => {
    transport.start = start;
    change();
    return start();
  };
}

/** Where requests have streams of their own, an answer goes out on that of its request. */
function onStreamOf(answer: object): { relatedRequestId?: RequestId } {
  return 'id' in answer ? { relatedRequestId: answer.id as RequestId } : {};
}
