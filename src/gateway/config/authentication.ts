import type { Authentication } from '../../server/auth/authentication.ts';
import { bearerTokens } from '../../server/auth/bearer-tokens.ts';
import type { GatewayConfig } from './types.ts';

/** Lets in whom the configuration names, which may change while it is served. */
export class ConfiguredAuth implements Authentication {
  readonly requiredScopes = [];
  readonly verifier: Authentication['verifier'] = {
    verifyAccessToken: (token) => this.#now.verifier.verifyAccessToken(token),
  };
  readonly principal: Authentication['principal'] = (caller) => this.#now.principal(caller);
  #now: Authentication;

  /** @throws {Error} when the file of tokens cannot be used. */
  static of(config: GatewayConfig): ConfiguredAuth | undefined {
    const auth = authOf(config);
    return auth === undefined ? undefined : new ConfiguredAuth(auth);
  }

  private constructor(auth: Authentication) {
    this.#now = auth;
  }

  /** From now on as this says; where it names nobody, as before. A door that is locked does not open by itself. */
  use(config: GatewayConfig): void {
    this.#now = authOf(config) ?? this.#now;
  }
}

function authOf({ tokens, tokenFile }: GatewayConfig): Authentication | undefined {
  if (tokenFile !== undefined) return bearerTokens({ file: tokenFile });
  if (tokens === undefined) return undefined;
  return bearerTokens({ tokens: tokens.map(({ name, token }) => ({ subject: name, token })) });
}
