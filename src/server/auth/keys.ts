import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, type RemoteJWKSet } from 'jose';
import { isJsonObject } from '../../core/index.ts';
import { AuthUnavailableError } from './authentication.ts';
import { secureUrl } from './urls.ts';

export interface KeyOptions {
  issuer: string;
  /** Asked of the issuer's own metadata where it is not given. */
  jwksUri: URL | undefined;
  cooldownMs: number;
  timeoutMs: number;
}

/** After a failed request the next one waits, or every request to us would become one to a server that is down. */
const MAX_PAUSE_MS = 5_000;

/**
 * The keys an issuer signs with now: fetched when they are first needed, kept for ten minutes, and fetched anew, once per
 * cooldown, when a token names a key that is not among them.
 */
export function issuerKeys({ issuer, jwksUri, cooldownMs, timeoutMs }: KeyOptions): JWTVerifyGetKey {
  const pauseMs = Math.min(cooldownMs, MAX_PAUSE_MS);
  let failed: { at: number; why: unknown } | undefined;
  const paused = (): boolean => failed !== undefined && performance.now() - failed.at < pauseMs;
  const get: Get = (url, headers) => {
    if (paused()) throw failed?.why;
    return fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(headers && { headers }),
    });
  };
  const open = async (): Promise<RemoteJWKSet> =>
    createRemoteJWKSet(jwksUri ?? (await discoverJwksUri(issuer, get)), {
      cooldownDuration: cooldownMs,
      [customFetch]: async (url, { headers }) => get(url, headers),
    });
  let opening: Promise<RemoteJWKSet> | undefined;
  return async (header, token) => {
    let keys: RemoteJWKSet | undefined;
    try {
      opening ??= open();
      keys = await opening;
      return await keys(header, token);
    } catch (error) {
      if (isAboutToken(error)) throw error;
      if (!paused()) failed = { at: performance.now(), why: error };
      if (keys?.fresh !== true) opening = undefined; // The issuer may have moved its keys.
      throw new AuthUnavailableError(`the keys of ${issuer} cannot be had: ${causeOf(error)}`, { cause: error });
    }
  };
}

type Get = (url: string, headers?: Headers) => Promise<Response>;

/** The keys are there, and none of them is the one that the token names. */
function isAboutToken(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some((kind) => error instanceof kind);
}

/** @see RFC 8414 section 3.1, OpenID Connect Discovery 1.0 section 4: the three places, in the order of MCP */
async function discoverJwksUri(issuer: string, get: Get): Promise<URL> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
  for (const place of new Set(places)) {
    const response = await get(place);
    if (response.status >= 500) throw new Error(`${place} answered ${response.status}`);
    if (response.status !== 200) continue;
    const metadata: unknown = await response.json();
    if (!isJsonObject(metadata) || metadata.issuer !== issuer) throw new Error(`${place} is of another issuer`);
    const { jwks_uri: jwksUri } = metadata;
    if (typeof jwksUri !== 'string') throw new Error(`${place} names no jwks_uri`);
    return secureUrl('jwks_uri', jwksUri);
  }
  throw new Error(`no metadata under ${origin}/.well-known/`);
}

/** What `fetch` says is only that it failed; why is in the cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
