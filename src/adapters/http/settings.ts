import { systemClock } from '../../core/index.ts';
import { systemLookup } from './addresses.ts';
import type { HttpAnswer } from './answer.ts';
import { type Find, firstOf, listOf, pathOf } from './json-path.ts';
import { type Merged, merged } from './merged.ts';
import type { HttpToolOptions, ResultSource } from './options.ts';
import { checkedMethod, fixedHeaders, type MakeRequest, requestOf } from './requests.ts';
import type { Reach } from './send.ts';
import { type Standing, standingReader } from './standing.ts';
import { type TellUrl, urlSources } from './url-source.ts';
import { mentions } from './values.ts';

/** Options, checked and made ready: nothing in them is found wrong later. */
export interface Settings {
  reach: Reach;
  /** Credentials and whatever else goes with every request. */
  headers: Readonly<Record<string, string>>;
  start: {
    request: MakeRequest;
    accepted: ReadonlySet<number>;
    operation: boolean;
  };
  status: {
    url: TellUrl;
    standing: (answer: HttpAnswer) => Standing;
    appearsWithinMs: number;
    results: readonly (Find | TellResultUrl)[];
  };
  cancel: { method: string; url: TellUrl; body: string | undefined } | undefined;
  find: FindSettings | undefined;
  idempotency: { header: string | undefined; format: 'key' | 'uuid'; honoured: boolean } | undefined;
  webhookUrl: string | undefined;
  /** What a job is called in hooks. */
  id: Find | undefined;
}

export interface TellResultUrl {
  url: TellUrl;
}

export interface FindSettings {
  request: MakeRequest;
  items: Find;
  match: Find;
  how: 'equals' | 'includes';
  appearsWithinMs: number;
}

/** @throws {TypeError} {RangeError} naming the option and what was expected. */
export function settingsOf(options: HttpToolOptions): Settings {
  const all = merged(options);
  const { start, status, cancel, idempotency, webhook } = all;
  const headers = fixedHeaders(all.headers ?? {}, 'headers');
  const startRequest = requestOf(start, 'start', { method: 'POST', headers });
  return {
    reach: reachOf(all),
    headers,
    start: {
      request: startRequest,
      accepted: new Set(start.accepted ?? [202]),
      operation: start.operation ?? false,
    },
    status: {
      url: urlSources(status.url, 'status.url'),
      standing: standingReader(status),
      appearsWithinMs: wholeNumber(status.appearsWithinMs, 10_000, 'status.appearsWithinMs', 0),
      results: listOf(status.result).map(resultSource),
    },
    cancel:
      cancel === false
        ? undefined
        : {
            method: checkedMethod(cancel.method ?? 'POST', 'cancel.method'),
            url: urlSources(cancel.url ?? { status: '' }, 'cancel.url'),
            body: cancel.body === undefined || cancel.body === null ? undefined : JSON.stringify(cancel.body),
          },
    find: all.find === undefined ? undefined : findOf(all, headers),
    idempotency:
      idempotency === false
        ? undefined
        : {
            header:
              idempotency.header === undefined
                ? undefined
                : Object.keys(fixedHeaders({ [idempotency.header]: '' }, 'idempotency.header'))[0],
            format: idempotency.format ?? 'key',
            honoured: honoured(all),
          },
    webhookUrl: webhook?.url === undefined ? undefined : publicUrl(webhook.url),
    id: webhook?.match === undefined ? undefined : pathOf(webhook.match.answer, 'webhook.match.answer'),
  };
}

function reachOf({ start, allowedOrigins = [], allowPrivate = false, limits = {}, lookup, clock }: Merged): Reach {
  // Values come after the origin, which the template's check sees to.
  const { origin } = new URL(start.url.replaceAll(/\{[^{}]*\}/g, 'x'));
  const others = allowedOrigins.map((allowed, at): [string, boolean] => {
    const { origin: text, credentials = false } = typeof allowed === 'string' ? { origin: allowed } : allowed;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
      throw new TypeError(`httpTool: allowedOrigins[${at}] must be an origin such as https://files.example`);
    }
    return [url.origin, credentials];
  });
  return {
    origin,
    others: new Map(others),
    allowPrivate,
    lookup: lookup ?? systemLookup,
    clock: clock ?? systemClock,
    timeoutMs: wholeNumber(limits.timeoutMs, 30_000, 'limits.timeoutMs', 1),
    responseBytes: wholeNumber(limits.responseBytes, 4 * 1024 * 1024, 'limits.responseBytes', 1),
    redirects: wholeNumber(limits.redirects, 5, 'limits.redirects', 0),
  };
}

function resultSource(source: ResultSource, at: number): Find | TellResultUrl {
  const field = `status.result[${at}]`;
  return typeof source === 'string' ? firstOf(source, field) : { url: urlSources(source.url, `${field}.url`) };
}

function findOf(all: Merged, headers: Readonly<Record<string, string>>): FindSettings {
  const { find, start, idempotency } = all as Merged & { find: NonNullable<Merged['find']> };
  const sent = (idempotency !== false && idempotency.header !== undefined) || sendsKey(start);
  if (!sent) {
    throw new TypeError(
      'httpTool: find: nothing in the start carries the job’s key, by which it could be found; put { job: key } into its ' +
        'body, query or headers, or {job.key} into its URL',
    );
  }
  return {
    request: requestOf(find, 'find', { method: 'GET', headers }),
    items: firstOf(find.items ?? '$', 'find.items'),
    match: pathOf(find.match, 'find.match'),
    how: find.how ?? 'equals',
    appearsWithinMs: wholeNumber(find.appearsWithinMs, 60_000, 'find.appearsWithinMs', 0),
  };
}

function honoured({ idempotency, start }: Merged): boolean {
  if (idempotency === false || idempotency.honoured !== true) return false;
  if (idempotency.header !== undefined || sendsKey(start)) return true;
  throw new TypeError(
    'httpTool: idempotency.honoured: nothing in the start carries a key; idempotency.header names one',
  );
}

function sendsKey({ url, headers = {}, query = {}, body = null }: Merged['start']): boolean {
  const isKey = (job: string): boolean => job === 'key' || job === 'uuid';
  return [url, ...Object.values(headers), ...Object.values(query), body].some((part) => mentions(part, isKey));
}

function publicUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new TypeError('httpTool: webhook.url must be an http or https URL');
}

function wholeNumber(value: number | undefined, byDefault: number, field: string, least: number): number {
  if (value === undefined) return byDefault;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`httpTool: ${field} must be a whole number of at least ${least}, got ${String(value)}`);
}
