import { isJsonObject, type JsonObject, type Principal } from '../../core/index.ts';
import { boundTo, type Seal } from '../seal.ts';
import { type DeclaredCapabilities, declaredCapabilities } from './capabilities.ts';

/** What was agreed at `initialize`, as far as later requests need it. */
export interface Session {
  /** Tells sessions apart; random. */
  id: string;
  /** The protocol version agreed on, 2025-11-25 or an earlier one. */
  version: string;
  capabilities: DeclaredCapabilities;
  /** Name and version the client gives itself; for limits of known hosts, never for rights. */
  client?: { name: string; version?: string };
  /** The client's capabilities as it sent them, unless they are too many to carry around. */
  declared?: JsonObject;
}

const MAX_CLIENT_NAME = 100;
/** The id of a session has to fit into a header, with room for others. */
const MAX_DECLARED_LENGTH = 1_500;

/**
 * What a client says at `initialize`; `undefined` for any other message.
 * @param supported the versions before 2026-07-28 that the server speaks, newest first
 */
export function readInitialize(message: unknown, id: string, supported: readonly string[]): Session | undefined {
  if (!isJsonObject(message) || message.method !== 'initialize' || !isJsonObject(message.params)) return undefined;
  const { protocolVersion, capabilities, clientInfo } = message.params;
  const asked = typeof protocolVersion === 'string' ? protocolVersion : '';
  const version = supported.includes(asked) ? asked : (supported[0] ?? asked);
  const client = readClient(clientInfo);
  return {
    id,
    version,
    capabilities: declaredCapabilities(capabilities, version),
    ...(client !== undefined && { client }),
    ...(isJsonObject(capabilities) && fits(capabilities) && { declared: capabilities }),
  };
}

/** The `initialize` that began a session, once more: for a server that was not there. */
export function encodeInitialize({ version, client, declared, capabilities }: Session): JsonObject {
  const { form, url = false, sampling = false, roots = false } = capabilities.abilities;
  const abilities = {
    ...((form || url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
    ...(sampling && { sampling: {} }),
    ...(roots && { roots: {} }),
  };
  return {
    method: 'initialize',
    params: {
      protocolVersion: version,
      capabilities: declared ?? abilities,
      clientInfo: { name: client?.name ?? '', version: client?.version ?? '' },
    },
  };
}

function fits(capabilities: JsonObject): boolean {
  return JSON.stringify(capabilities).length <= MAX_DECLARED_LENGTH;
}

/** The version that the answer to an `initialize` settles on; `undefined` for any other message. */
export function agreedVersion(message: unknown): string | undefined {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return undefined;
  const { protocolVersion } = message.result;
  return typeof protocolVersion === 'string' ? protocolVersion : undefined;
}

/** Of a request that belongs to no session: all that is known is the version it names, if it names one. */
export function sessionless(version: string): Session {
  return { id: '', version, capabilities: declaredCapabilities(undefined) };
}

/** Name and version a client gives itself, if it does. */
export function readClient(clientInfo: unknown): { name: string; version?: string } | undefined {
  if (!isJsonObject(clientInfo) || typeof clientInfo.name !== 'string') return undefined;
  const { name, version } = clientInfo;
  return {
    name: name.slice(0, MAX_CLIENT_NAME),
    ...(typeof version === 'string' && { version: version.slice(0, MAX_CLIENT_NAME) }),
  };
}

/**
 * The id of a session, which holds all there is of it: no process has to remember any, and every process on the store,
 * also one that starts later, can go on with it. To anybody else than its principal it is no session at all.
 * @see 2025-11-25 transports, "Session Management"; security best practices, "Session Hijacking"
 */
export function encodeSession(session: Session, principal: Principal, seal: Seal): string {
  return seal.close(JSON.stringify(session), boundTo('session', principal));
}

/** The session an id stands for; `undefined` when it is none of this store's, or of somebody else's. */
export function decodeSession(sessionId: string, principal: Principal, seal: Seal): Session | undefined {
  const text = seal.open(sessionId, boundTo('session', principal));
  return text === undefined ? undefined : (JSON.parse(text) as Session);
}
