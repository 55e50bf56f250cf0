import { ANONYMOUS_PRINCIPAL, LOCAL_PRINCIPAL, type Principal } from '../core/index.ts';

/** What a server knows about who is calling. The shape of the SDK's `AuthInfo`, as far as it is looked at. */
export interface CallerAuth {
  clientId?: string;
  scopes?: string[];
  /** Verified claims and whatever else the token verifier handed over. */
  extra?: Record<string, unknown>;
}

/**
 * Decides whose tasks a request may touch. Throw to refuse it: an error with an integer `code` goes out as that JSON-RPC
 * error, the message of any other is only logged.
 */
export type PrincipalOf = (caller: { auth: CallerAuth | undefined }) => Principal;

/** A token was accepted but does not say whose it is. */
export class UnidentifiedCallerError extends Error {
  override readonly name = 'UnidentifiedCallerError';
  constructor() {
    super('the token names no issuer and subject; give the server a principal() that knows whose it is');
  }
}

/**
 * Issuer and subject of the token. Never the client id alone: everybody who uses that client would share their tasks.
 * Without authentication, loopback and stdio are one local principal, and a listener open to the network is anonymous.
 */
export function defaultPrincipal(reach: 'local' | 'open'): PrincipalOf {
  return ({ auth }) => {
    if (auth === undefined) return reach === 'local' ? LOCAL_PRINCIPAL : ANONYMOUS_PRINCIPAL;
    const { iss, sub } = auth.extra ?? {};
    if (typeof iss !== 'string' || typeof sub !== 'string' || iss === '' || sub === '')
      throw new UnidentifiedCallerError();
    return { subject: `${iss}|${sub}` };
  };
}

/** Whose request it is; `undefined` where nobody can say, which each request is told itself. */
export function principalIfKnown(principalOf: PrincipalOf, auth: CallerAuth | undefined): Principal | undefined {
  try {
    return principalOf({ auth });
  } catch {
    return undefined;
  }
}
