import type { OAuthTokenVerifier } from '@modelcontextprotocol/server';
import type { PrincipalOf } from '../principal.ts';

/** How a server knows who is calling. Made by `oauth` and `bearerTokens`. */
export interface Authentication {
  /** Says what a token is good for, or throws: an `OAuthError` refuses it. */
  readonly verifier: OAuthTokenVerifier;
  /** Every token needs all of them. */
  readonly requiredScopes: readonly string[];
  /** Whose tasks a verified token may touch, where the server has no `principal()` of its own. */
  readonly principal: PrincipalOf;
  /** Where clients read which authorization server gives out tokens. */
  readonly resourceMetadataUrl?: string;
  /** What they read there; `undefined` for requests of anything else. */
  metadata?(request: Request): Response | undefined;
}

/** What tokens are checked against is out of reach: nobody can say whether they are good. */
export class AuthUnavailableError extends Error {
  override readonly name = 'AuthUnavailableError';
}
