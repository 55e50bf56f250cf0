import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, isJsonObject, type JsonValue } from '../../core/index.ts';
import { headerName } from './header-fields.ts';
import { pathOf } from './json-path.ts';
import type { HttpWebhookOptions } from './options.ts';
import type { HttpRef } from './ref.ts';
import { HOOK_JOB } from './requests.ts';

/** Hooks say little. */
const MAX_BYTES = 1024 * 1024;
const TOLERANCE_MS = 5 * 60_000;
/** Later than this in seconds is the year 5138: it is in milliseconds. */
const SECONDS_BELOW = 100_000_000_000;
const KEY = /^[A-Za-z0-9_-]{24}$/;

export type HookHints = { ref?: HttpRef; idempotencyKey?: string }[];

/**
 * Reads requests of the service. One that is authentic means at most that it is time to look; it is about no job where it does not
 * say about which (`[{}]`).
 * @throws {TypeError} naming the option that cannot work.
 */
export function webhookReader(
  { secret, header, encoding = 'hex', prefix = '', timestamp, signed, match }: HttpWebhookOptions,
  clock: Clock,
): (request: Request) => Promise<HookHints> {
  if (secret === undefined || secret.length === 0) throw new TypeError('httpTool: webhook.secret must not be empty');
  if (encoding !== 'hex' && encoding !== 'base64')
    throw new TypeError("httpTool: webhook.encoding must be 'hex' or 'base64'");
  const signature = headerName(header ?? 'x-signature-256', 'webhook.header');
  const sentAt = timestamp === undefined ? undefined : headerName(timestamp.header, 'webhook.timestamp.header');
  const toleranceMs = timestamp?.toleranceMs ?? TOLERANCE_MS;
  const template = signed ?? (timestamp === undefined ? '{body}' : '{timestamp}.{body}');
  if (!template.includes('{body}')) throw new TypeError('httpTool: webhook.signed must have {body} in it');
  if (timestamp !== undefined && !template.includes('{timestamp}')) {
    throw new TypeError('httpTool: webhook.signed must have {timestamp} in it, or anybody could set the time');
  }
  const hookAt = match === undefined ? undefined : pathOf(match.hook, 'webhook.match.hook');

  const isAuthentic = (body: Buffer, headers: Headers): boolean => {
    const time = sentAt === undefined ? '' : (headers.get(sentAt) ?? '');
    if (sentAt !== undefined && !isNear(time, clock.now(), toleranceMs)) return false;
    const pieces = template.split(/(\{body\}|\{timestamp\}|\{header\.[\w-]+\})/);
    const hmac = createHmac('sha256', secret);
    for (const piece of pieces) hmac.update(contentOf(piece, { body, time, headers }));
    const expected = hmac.digest();
    // More than one where the secret is being changed.
    return (headers.get(signature) ?? '').split(/\s+/).some((one) => same(one, prefix, expected, encoding));
  };

  return async (request) => {
    if (request.method !== 'POST') return [];
    const body = await bodyOf(request);
    if (body === undefined || !isAuthentic(body, request.headers)) return [];
    const key = new URL(request.url).searchParams.get(HOOK_JOB);
    if (key !== null && KEY.test(key)) return [{ idempotencyKey: key }];
    const id = hookAt?.(jsonOf(body));
    return [typeof id === 'string' || typeof id === 'number' ? { ref: { id: String(id) } } : {}];
  };
}

function contentOf(piece: string, { body, time, headers }: { body: Buffer; time: string; headers: Headers }) {
  if (piece === '{body}') return body;
  if (piece === '{timestamp}') return time;
  const [, name] = /^\{header\.(.+)\}$/.exec(piece) ?? [];
  return name === undefined ? piece : (headers.get(name) ?? '');
}

/** Takes the same time, wherever they differ. */
function same(given: string, prefix: string, expected: Buffer, encoding: 'hex' | 'base64'): boolean {
  if (!given.startsWith(prefix)) return false;
  const bytes = Buffer.from(given.slice(prefix.length), encoding);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

function isNear(text: string, now: number, toleranceMs: number): boolean {
  if (!/^\d{1,15}$/.test(text)) return false;
  const number = Number(text);
  return Math.abs((number < SECONDS_BELOW ? number * 1_000 : number) - now) <= toleranceMs;
}

async function bodyOf(request: Request): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.byteLength;
    if (size > MAX_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function jsonOf(body: Buffer): JsonValue | undefined {
  try {
    const value = JSON.parse(body.toString('utf8')) as JsonValue;
    return isJsonObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
