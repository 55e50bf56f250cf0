import { createHash, timingSafeEqual } from 'node:crypto';
import { isJsonObject } from '../../core/index.ts';

/** A token that lets its owner in. */
export interface BearerToken {
  /** The token itself: 128 random bits at least, for example 32 hex digits of `openssl rand -hex 16`. */
  token?: string;
  /** Or its SHA-256, as 64 hex digits, so that the list is worth nothing to a thief. */
  tokenHash?: string;
  /** Whose it is. Several tokens may be one's, as during a rotation. */
  subject: string;
  tenant?: string;
  /** @default none */
  scopes?: string[];
  /** When it stops, as an ISO 8601 time with its zone. @default never */
  expiresAt?: string;
}

export interface KnownToken {
  digest: Buffer;
  subject: string;
  tenant: string | undefined;
  scopes: string[];
  /** In seconds since the epoch, as the SDK has it. */
  expiresAt: number;
}

const MIN_BITS = 128;
/** Random text of that length has more of them, but for one in billions. */
const MIN_DISTINCT = 8;
const NEVER = Number.MAX_SAFE_INTEGER;
const KEYS = new Set(['token', 'tokenHash', 'subject', 'tenant', 'scopes', 'expiresAt']);

/** @throws {TypeError} saying what is wrong with which entry, and never what its token is. */
export function knownTokens(list: unknown): KnownToken[] {
  if (!Array.isArray(list)) throw new TypeError('tokens must be a list');
  const known = list.map((entry: unknown, index) => {
    try {
      return knownToken(entry);
    } catch (error) {
      throw new TypeError(`tokens[${index}]: ${(error as Error).message}`);
    }
  });
  const digests = known.map(({ digest }) => digest.toString('hex'));
  const twice = digests.findIndex((digest, index) => digests.indexOf(digest) !== index);
  if (twice >= 0) throw new TypeError(`tokens[${twice}]: this token is in the list already`);
  return known;
}

/** Compares with every token, and with each in full, so that time tells nothing about any. */
export function findToken(known: readonly KnownToken[], token: string): KnownToken | undefined {
  const presented = sha256(token);
  let found: KnownToken | undefined;
  for (const candidate of known) {
    if (timingSafeEqual(candidate.digest, presented)) found = candidate;
  }
  return found;
}

function knownToken(entry: unknown): KnownToken {
  if (!isJsonObject(entry)) throw new TypeError('must be an object');
  const stranger = Object.keys(entry).find((key) => !KEYS.has(key));
  if (stranger !== undefined) throw new TypeError(`${JSON.stringify(stranger)} means nothing here`);
  const { subject, tenant, scopes = [], expiresAt } = entry;
  if (typeof subject !== 'string' || subject === '') throw new TypeError('subject must say whose it is');
  if (tenant !== undefined && (typeof tenant !== 'string' || tenant === '')) {
    throw new TypeError('tenant must be a name');
  }
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string')) {
    throw new TypeError('scopes must be a list of names');
  }
  return { digest: digestOf(entry), subject, tenant, scopes: scopes as string[], expiresAt: secondsOf(expiresAt) };
}

function digestOf({ token, tokenHash }: { token?: unknown; tokenHash?: unknown }): Buffer {
  if ((token === undefined) === (tokenHash === undefined)) throw new TypeError('needs either token or tokenHash');
  if (tokenHash !== undefined) {
    if (typeof tokenHash === 'string' && /^[0-9a-f]{64}$/i.test(tokenHash)) return Buffer.from(tokenHash, 'hex');
    throw new TypeError('tokenHash must be the SHA-256 of the token, as 64 hex digits');
  }
  if (typeof token !== 'string' || !/^[\w.~+/-]+=*$/.test(token)) {
    throw new TypeError('token must be letters, digits and any of -._~+/');
  }
  if (bitsOf(token) < MIN_BITS || new Set(token).size < MIN_DISTINCT) {
    throw new TypeError(`token can be guessed: it needs ${MIN_BITS} random bits; make one with: openssl rand -hex 16`);
  }
  return sha256(token);
}

/** How many bits a random text of this kind has. */
function bitsOf(token: string): number {
  const alphabet = /^\d+$/.test(token) ? 10 : /^[\da-f]+$/i.test(token) ? 16 : /^[\da-z]+$/i.test(token) ? 62 : 64;
  return token.replace(/=+$/, '').length * Math.log2(alphabet);
}

function secondsOf(expiresAt: unknown): number {
  if (expiresAt === undefined) return NEVER;
  const time = typeof expiresAt === 'string' && /T.*(Z|[+-]\d\d:\d\d)$/.test(expiresAt) ? Date.parse(expiresAt) : NaN;
  if (Number.isNaN(time)) throw new TypeError('expiresAt must be a time with its zone, e.g. 2030-01-01T00:00:00Z');
  return Math.floor(time / 1_000);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
