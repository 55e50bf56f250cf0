import { type AuthInfo, OAuthError, OAuthErrorCode } from '@modelcontextprotocol/server';
import { defaultPrincipal, type PrincipalOf } from '../principal.ts';
import { type Authentication, AuthUnavailableError } from './authentication.ts';
import { TokenFile } from './token-file.ts';
import { type BearerToken, findToken, type KnownToken, knownTokens } from './token-list.ts';

export type BearerTokensOptions = {
  /** Scopes that every token must have. @default none */
  requiredScopes?: string[];
} & (
  | { tokens: readonly BearerToken[] }
  /** A JSON file `{ "tokens": [ … ] }` that only its owner may read. Changes count from the next request on. */
  | { file: string }
);

/** Stands where OAuth has an issuer, so that a subject of this list is neither one of theirs nor `local`. */
const ISSUER = 'tokens';

/**
 * Lets in who brings a token of a list: for small installs, without an authorization server. Tasks belong to the token's
 * subject, and to its tenant where it has one.
 * @throws {TypeError} when a token of the list cannot be used; the message says which and why.
 * @throws {Error} when the file cannot be used.
 */
export function bearerTokens(options: BearerTokensOptions): Authentication {
  const current = source(options);
  const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
    const known = findToken(current(), token);
    if (known === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'The token is not known');
    const { subject, tenant, scopes, expiresAt } = known;
    const extra = { iss: ISSUER, sub: subject, ...(tenant !== undefined && { tenant }) };
    return { token, clientId: '', scopes, expiresAt, extra };
  };
  return { verifier: { verifyAccessToken }, requiredScopes: options.requiredScopes ?? [], principal };
}

const principal: PrincipalOf = (caller) => {
  const { tenant } = caller.auth?.extra ?? {};
  return { ...(typeof tenant === 'string' && { tenant }), ...defaultPrincipal('open')(caller) };
};

function source(options: BearerTokensOptions): () => readonly KnownToken[] {
  if ('file' in options) {
    const file = new TokenFile(options.file);
    return () => {
      try {
        return file.tokens();
      } catch (error) {
        throw new AuthUnavailableError((error as Error).message, { cause: error });
      }
    };
  }
  const tokens = knownTokens(options.tokens);
  return () => tokens;
}
