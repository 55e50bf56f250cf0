import {
  type AuthInfo,
  type AuthMetadataOptions,
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
} from '@modelcontextprotocol/server';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { defaultPrincipal, type PrincipalOf, UnidentifiedCallerError } from '../principal.ts';
import type { Authentication } from './authentication.ts';
import { issuerKeys } from './keys.ts';
import { secureUrl } from './urls.ts';

export interface OAuthOptions {
  /** The authorization server, exactly as its tokens name it in `iss`. */
  issuer: string;
  /** The URL under which clients reach this server: what they ask tokens for. */
  resource: string;
  /** What tokens for this server have in `aud`; all others are refused. @default `resource` */
  audience?: string;
  /** Where the issuer's keys are. @default what the issuer's own metadata says */
  jwksUri?: string;
  /** Scopes that every token must have. @default none */
  requiredScopes?: string[];
  /** Clocks may differ by so many seconds. @default 30 */
  clockToleranceSec?: number;
  /** The claim that names the tenant; a token without it is then refused. @default no tenants */
  tenantClaim?: string;
  /** Ask for keys anew, for a token whose key is unknown, no more often than this, in milliseconds. @default 30000 */
  jwksCooldownMs?: number;
  /** How long the issuer may take to hand out its keys, in milliseconds. @default 5000 */
  jwksTimeoutMs?: number;
}

/** Signatures that only the issuer can make. HMAC is not among them: who can check one can make one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const METADATA_PATH = '/.well-known/oauth-protected-resource';

/**
 * Lets in who brings an access token (a JWT) of `issuer` for this server. Tasks belong to issuer and subject of the token.
 * @throws {TypeError} {RangeError} naming an option that cannot work.
 * @see 2026-07-28 authorization, "Token Handling"; RFC 9068, RFC 9728
 */
export function oauth(options: OAuthOptions): Authentication {
  const {
    issuer,
    requiredScopes = [],
    clockToleranceSec = 30,
    jwksCooldownMs = 30_000,
    jwksTimeoutMs = 5_000,
  } = options;
  whole('clockToleranceSec', clockToleranceSec, 0, 600);
  whole('jwksCooldownMs', jwksCooldownMs, 0, 3_600_000);
  whole('jwksTimeoutMs', jwksTimeoutMs, 1, 60_000);
  secureUrl('oauth: issuer', issuer);
  const resource = secureUrl('oauth: resource', options.resource);
  const audience = options.audience ?? resource.href;
  if (audience === '') throw new TypeError('oauth: audience must not be empty');
  const jwksUri = options.jwksUri === undefined ? undefined : secureUrl('oauth: jwksUri', options.jwksUri);
  // Of the authorization server no more is told than its name: its own metadata is for it to serve.
  const metadata: AuthMetadataOptions = {
    oauthMetadata: { issuer } as AuthMetadataOptions['oauthMetadata'],
    resourceServerUrl: resource,
    ...(requiredScopes.length > 0 && { scopesSupported: requiredScopes }),
  };
  buildOAuthProtectedResourceMetadata(metadata); // A URL that cannot be served is told here, not to the first client.
  const keys = issuerKeys({ issuer, jwksUri, cooldownMs: jwksCooldownMs, timeoutMs: jwksTimeoutMs });
  const rules = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: clockToleranceSec,
    requiredClaims: ['exp'],
  };
  const verifyAccessToken = async (token: string): Promise<AuthInfo> => {
    try {
      const { payload } = await jwtVerify(token, keys, rules);
      return authInfo(token, payload, resource, clockToleranceSec);
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      throw new OAuthError(OAuthErrorCode.InvalidToken, reasonOf(error));
    }
  };
  return {
    verifier: { verifyAccessToken },
    requiredScopes,
    principal: principalWith(options.tenantClaim),
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    metadata: (request) =>
      new URL(request.url).pathname.startsWith(METADATA_PATH) ? oauthMetadataResponse(request, metadata) : undefined,
  };
}

function principalWith(tenantClaim: string | undefined): PrincipalOf {
  const principalOf = defaultPrincipal('open');
  if (tenantClaim === undefined) return principalOf;
  return (caller) => {
    const tenant = caller.auth?.extra?.[tenantClaim];
    if (typeof tenant !== 'string' || tenant === '') throw new UnidentifiedCallerError();
    return { tenant, ...principalOf(caller) };
  };
}

function authInfo(token: string, payload: JWTPayload, resource: URL, toleranceSec: number): AuthInfo {
  const { client_id: clientId, azp, scope, scp } = payload;
  return {
    token,
    clientId: [clientId, azp].find((id) => typeof id === 'string') ?? '',
    scopes: [scope, scp].flatMap(scopesIn),
    expiresAt: Number(payload.exp) + toleranceSec, // The SDK looks at it again, and knows no tolerance.
    resource,
    extra: payload,
  };
}

/** One string with spaces in RFC 9068, a list with others. */
function scopesIn(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((scope) => scope !== '');
  return Array.isArray(claim) ? claim.filter((scope) => typeof scope === 'string') : [];
}

/** For the client and the log. Claims are looked at after the signature, so nobody learns them by guessing. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token is signed in a way that is not accepted';
  if (error instanceof errors.JWKSNoMatchingKey) return 'The token is signed with an unknown key';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'The token does not say which key it is signed with';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token does not fit';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'The token is malformed';
  if (error.claim === 'iss') return 'The token is of another issuer';
  if (error.claim === 'aud') return 'The token is meant for another server';
  if (error.claim === 'nbf' && error.reason === 'check_failed') return 'The token is not valid yet';
  return `The claim ${error.claim} of the token is missing or malformed`;
}

function whole(option: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw new RangeError(`oauth: ${option} must be a whole number from ${min} to ${max}, got ${value}`);
}
