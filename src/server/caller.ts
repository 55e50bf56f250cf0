import type { Principal, RequestorAbilities } from '../core/index.ts';
import { readClient, type Session } from '../wire/rev2025-11-25/index.ts';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  declaredCapabilities,
  REVISION,
  TRACEPARENT_META_KEY,
} from '../wire/rev2026-07-28/index.ts';
import type { PrincipalOf } from './principal.ts';
import type { ServerContext } from './sdk.ts';

/** Which kind of requests an instance serves: those that say everything themselves, or those of a session. */
export type Peer = { era: 'modern' } | { era: 'legacy'; session: () => Session | undefined };

/** The session of a request; empty where there is none. */
export function sessionIdOf(peer: Peer): string {
  return peer.era === 'legacy' ? (peer.session()?.id ?? '') : '';
}

/** Who is asking, and what is known of what it can take. */
export interface Caller {
  principal: Principal;
  /** The protocol version it speaks; `undefined` where nobody said. */
  version: string | undefined;
  /** What this very request declared, on revisions on which requests do. */
  clientCapabilities: unknown;
  /** What it can be asked. */
  abilities: RequestorAbilities;
  /** It makes tasks of its own of what its model is asked, by the first draft. */
  samplesAsTask?: boolean | undefined;
  /** How it can be asked while its call waits: by an answer that asks, by a request of ours, or not at all. */
  askedBy: 'rounds' | 'requests' | 'nothing';
  /** Name and version it gives itself. */
  client: { name: string; version?: string } | undefined;
  traceparent: string | undefined;
}

/** @throws whatever `principalOf` throws, when nobody can say whose request it is. */
export function callerOf(ctx: ServerContext, peer: Peer, principalOf: PrincipalOf): Caller {
  const principal = principalOf({ auth: ctx.http?.authInfo });
  const meta = ctx.mcpReq._meta?.[TRACEPARENT_META_KEY];
  const traceparent = typeof meta === 'string' ? meta : undefined;
  if (peer.era === 'legacy') return callerOfSession(principal, peer.session(), traceparent);
  return callerByEnvelope(principal, ctx.mcpReq.envelope as Envelope | undefined, traceparent);
}

type Envelope = Readonly<Record<string, unknown>>;

/** By what a request of 2026-07-28 says of its client. */
export function callerByEnvelope(principal: Principal, envelope?: Envelope, traceparent?: string): Caller {
  const clientCapabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
  const { abilities } = declaredCapabilities(clientCapabilities);
  const client = readClient(envelope?.[CLIENT_INFO_META_KEY]);
  const askedBy = anyOf(abilities) ? 'rounds' : 'nothing';
  return { principal, version: REVISION, clientCapabilities, abilities, askedBy, client, traceparent };
}

/** By what a client said when its session began. */
export function callerOfSession(
  principal: Principal,
  session: (Omit<Session, 'id' | 'version'> & { version: string | undefined }) | undefined,
  traceparent?: string,
): Caller {
  const abilities = session?.capabilities.abilities ?? { form: false };
  return {
    principal,
    version: session?.version,
    clientCapabilities: undefined,
    abilities,
    samplesAsTask: session?.capabilities.samplesAsTask,
    askedBy: anyOf(abilities) ? 'requests' : 'nothing',
    client: session?.client,
    traceparent,
  };
}

function anyOf({ form, url, sampling, roots }: RequestorAbilities): boolean {
  return form || url === true || sampling === true || roots === true;
}
