import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { unlessAborted } from '../../client/unless-aborted.ts';
import type { Clock } from '../../core/index.ts';
import { checkedAddresses, type Lookup } from './addresses.ts';
import { answerOf, type HttpAnswer, headerOf } from './answer.ts';
import { HttpTroubleError, RefusedError } from './errors.ts';
import { exchange } from './exchange.ts';

/** Where requests of a tool may go, and with what. */
export interface Reach {
  /** The start URL's. */
  origin: string;
  /** Origins beside it, and whether they get the headers that were configured. */
  others: ReadonlyMap<string, boolean>;
  allowPrivate: boolean;
  lookup: Lookup;
  clock: Clock;
  timeoutMs: number;
  responseBytes: number;
  redirects: number;
}

export interface HttpRequest {
  method: string;
  url: URL;
  /** Without secrets: what the request is about. */
  headers?: Readonly<Record<string, string>>;
  /** As configured: they may be credentials. */
  configured?: Readonly<Record<string, string>>;
  /** JSON. */
  body?: string | undefined;
  /** It must not come twice, so no connection is taken that may just be closing. */
  once?: boolean;
}

export type Send = (request: HttpRequest, signal: AbortSignal, now: () => number) => Promise<HttpAnswer>;

/** Idle connections are closed after this. */
const IDLE_MS = 10_000;
const REDIRECTS = [301, 302, 303, 307, 308];

/**
 * Sends requests within `reach`, and follows redirects by hand, each under the same rules.
 * @throws {RefusedError} naming what is not allowed, before anything is sent there.
 * @throws {HttpTroubleError} when there is no answer now.
 */
export function sender(reach: Reach): Send {
  const agents = {
    'http:': new HttpAgent({ keepAlive: true, timeout: IDLE_MS }),
    'https:': new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }),
  };
  return async (request, signal, now) => {
    let { method, url, body } = request;
    let seeOther = false;
    let sent = false;
    try {
      for (let followed = 0; ; followed += 1) {
        checkOrigin(url, reach, followed > 0);
        const addresses = await addressesOf(url, reach, signal);
        const agent = request.once === true ? false : agents[url.protocol as keyof typeof agents];
        const headers = headersFor(url, request, body, reach);
        sent = true;
        const got = await exchange({ ...reach, method, url, headers, body, addresses, agent, signal });
        const location = headerOf(got, 'location');
        if (!REDIRECTS.includes(got.status) || location === undefined) return answerOf(got, url, seeOther, now());
        if (followed === reach.redirects) {
          throw new RefusedError(`${reach.origin} redirected more than ${reach.redirects} times (limits.redirects)`);
        }
        if (got.status === 303) {
          seeOther = true;
          if (method !== 'HEAD') method = 'GET';
          body = undefined;
        } else if ((got.status === 301 || got.status === 302) && method !== 'GET' && method !== 'HEAD') {
          throw new RefusedError(
            `${url.origin} redirected a ${method} with ${got.status}, which says not how to go on`,
          );
        }
        url = urlIn(location, url, 'a redirect');
      }
    } catch (error) {
      if (error instanceof RefusedError) error.sent = sent;
      throw error;
    }
  };
}

/** @throws {RefusedError} when it is no URL that can be asked for. */
export function urlIn(text: string, base: URL, what: string): URL {
  let url: URL;
  try {
    url = new URL(text, base);
  } catch {
    throw new RefusedError(`${base.origin} answered with ${what} that is no URL`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new RefusedError(`${base.origin} answered with ${what} that is neither http nor https`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new RefusedError(`${base.origin} answered with ${what} that has a user name in it`);
  }
  url.hash = '';
  return url;
}

/** @throws {RefusedError} when nothing may be sent there. */
export function checkOrigin(url: URL, { origin, others }: Pick<Reach, 'origin' | 'others'>, redirected = false): void {
  if (url.origin === origin || others.has(url.origin)) return;
  const what = redirected ? 'a redirect' : 'a URL';
  throw new RefusedError(
    `${origin} answered with ${what} at another origin, ${url.origin}; allowedOrigins would have to name it`,
  );
}

/**
 * Where a URL may be connected to.
 * @throws {RefusedError} {HttpTroubleError} when it may not, or its name means nothing now.
 */
export async function addressesOf(url: URL, { origin, others, allowPrivate, lookup }: Reach, signal: AbortSignal) {
  // Who writes a private address into the configuration means it.
  const named = [origin, ...others.keys()].some((one) => new URL(one).hostname === url.hostname);
  const literal = named && (url.hostname === 'localhost' || /^(\[.*\]|[\d.]+)$/.test(url.hostname));
  try {
    // Resolving a name cannot be stopped, only left alone.
    return await unlessAborted(
      checkedAddresses(url.hostname, { allowPrivate: allowPrivate || literal, lookup }),
      signal,
    );
  } catch (error) {
    if (error instanceof RefusedError || signal.aborted) throw error;
    const { code = 'ENOTFOUND' } = error as { code?: string };
    const message = `the address of ${url.hostname} cannot be found (${code})`;
    throw new HttpTroubleError(message, { code, mayHaveStarted: false, cause: error });
  }
}

function headersFor(url: URL, request: HttpRequest, body: string | undefined, { origin, others }: Reach) {
  const trusted = url.origin === origin || others.get(url.origin) === true;
  return {
    accept: 'application/json, */*;q=0.5',
    'user-agent': 'longcall',
    ...request.headers,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(trusted && request.configured),
  };
}
