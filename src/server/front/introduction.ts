import { isJsonObject } from '../../core/index.ts';
import { asksWho, introducing } from '../../wire/relayed.ts';
import { declaredCapabilities, readClient } from '../../wire/rev2025-11-25/index.ts';
import { type Caller, callerByEnvelope, callerOfSession } from '../caller.ts';
import type { ServingParts } from '../parts.ts';
import type { CallerAuth } from '../principal.ts';
import { answerTo } from '../rpc-error.ts';
import type { JSONRPCMessage, RequestId, Transport } from '../sdk.ts';
import type { FrontView } from './front.ts';

type ViewOf = (caller: Caller, authorization: string | undefined) => Promise<FrontView>;

interface Asking {
  who: () => Caller | undefined;
  authorization: string | undefined;
}

/** The client of a connection or session, as far as it has said who it is. */
export function sessionCaller({ peer, principalOf }: ServingParts, auth?: CallerAuth): Caller | undefined {
  const session = peer.era === 'legacy' ? peer.session() : undefined;
  if (session === undefined) return undefined;
  return callerOfSession(principalOf({ auth }), session);
}

/**
 * Lets a server present itself as those behind it do. They are only reached once it is known who asks, since what they offer
 * may depend on that: so the SDK's own answer waits on its way out.
 */
export function introduce(transport: Transport, viewOf: ViewOf, parts: ServingParts): void {
  const asking = new Map<RequestId, Asking>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if (asksWho(message)) {
      const { params } = message as { params?: unknown };
      const authorization = extra?.request?.headers.get('authorization') ?? undefined;
      asking.set(message.id, { who: () => callerWho(params, parts, extra?.authInfo), authorization });
    }
    onmessage?.(message, extra);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = 'method' in message ? undefined : message.id;
    const asked = id === undefined ? undefined : asking.get(id);
    if (id === undefined || asked === undefined) return send(message, options);
    asking.delete(id);
    // What the SDK refuses it refuses at once, and HTTP is told so.
    if (!('result' in message)) return send(message, options);
    return send(await introduced(message, message.id, asked, viewOf, parts), options);
  };
}

async function introduced(
  message: JSONRPCMessage,
  id: RequestId,
  { who, authorization }: Asking,
  viewOf: ViewOf,
  { tasks, peer }: ServingParts,
): Promise<JSONRPCMessage> {
  try {
    const caller = who();
    if (caller === undefined) return message;
    return introducing(message, (await viewOf(caller, authorization)).portrait, peer.era) as JSONRPCMessage;
  } catch (error) {
    return { jsonrpc: '2.0', id, error: answerTo(error, 'initialize', tasks) };
  }
}

function callerWho(params: unknown, parts: ServingParts, auth: CallerAuth | undefined): Caller | undefined {
  if (parts.peer.era === 'legacy') return sessionCaller(parts, auth) ?? beginner(params, parts, auth);
  const meta = isJsonObject(params) && isJsonObject(params._meta) ? params._meta : {};
  return callerByEnvelope(parts.principalOf({ auth }), meta);
}

/** Over HTTP an `initialize` belongs to no session yet. */
function beginner(params: unknown, { principalOf }: ServingParts, auth: CallerAuth | undefined): Caller {
  const { capabilities: declared, clientInfo, protocolVersion } = isJsonObject(params) ? params : {};
  const version = typeof protocolVersion === 'string' ? protocolVersion : undefined;
  const client = readClient(clientInfo);
  const capabilities = declaredCapabilities(declared, version);
  return callerOfSession(principalOf({ auth }), { version, capabilities, ...(client !== undefined && { client }) });
}
