import type { JsonValue } from '../../core/index.ts';
import type { Exchanged } from './exchange.ts';

/** What a service answered. */
export interface HttpAnswer {
  /** Where it came from: relative URLs in it are relative to this. */
  url: URL;
  status: number;
  /** Reached by a 303: it is the result of what was asked for, not another look at how that is going. */
  seeOther: boolean;
  headers: Exchanged['headers'];
  body: Buffer;
  /** Without parameters, in lower case. */
  type: string;
  /** `undefined`: it is no JSON. */
  json: JsonValue | undefined;
  /** How long to wait before the next request, in milliseconds, where it says so. */
  retryAfterMs: number | undefined;
}

/** @param now of this machine, in milliseconds: counts only where the answer has no Date of its own. */
export function answerOf(from: Exchanged, url: URL, seeOther: boolean, now: number): HttpAnswer {
  const type = (headerOf(from, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { ...from, url, seeOther, type, json: jsonOf(from.body, type), retryAfterMs: retryAfterOf(from, now) };
}

export function headerOf({ headers }: Pick<Exchanged, 'headers'>, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

export function isSuccess({ status }: Pick<Exchanged, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** Seconds, or a date. A date is measured by the clock of whoever wrote it. @see RFC 9110, 10.2.3 */
function retryAfterOf(from: Exchanged, now: number): number | undefined {
  const value = headerOf(from, 'retry-after')?.trim();
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1_000);
  const at = Date.parse(value);
  const there = Date.parse(headerOf(from, 'date') ?? '');
  const ms = at - (Number.isNaN(there) ? now : there);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function jsonOf(body: Buffer, type: string): JsonValue | undefined {
  const says = type === 'application/json' || type.endsWith('+json');
  const text = body.toString('utf8').replace(/^\uFEFF/, '');
  if (!says && !(type === '' || type === 'text/plain')) return undefined;
  if (!says && !/^\s*[{[]/.test(text)) return undefined; // A lone word that happens to be JSON is text.
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
