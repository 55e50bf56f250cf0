import type { Clock, JsonValue } from '../../core/index.ts';
import type { Lookup } from './addresses.ts';

/**
 * Where a value stands in JSON: a JSON path (RFC 9535), such as `$.metadata.percent`, or the plain name of a member at the top. Of
 * several values that a path finds, the first.
 */
export type JsonPath = string;

/** A value that is put in: of the call's input, or of the job itself. What the input lacks is left out. */
export type Placed =
  | { input: JsonPath }
  /**
   * `key`: the job's idempotency key, 24 characters of `A-Za-z0-9_-`; `uuid`: the same as a UUID; `webhook`: the URL that news of
   * the job may be sent to (`webhook.url`).
   */
  | { job: JobValue };

export type JobValue = 'key' | 'uuid' | 'webhook';

/** JSON in which a mapping whose only member is `input` or `job` stands for a value; `{ literal: … }` is taken as it is. */
export type BodyTemplate = JsonValue;

/**
 * A URL with values in its path and query: `{name}` and `{input.name}` of the input, `{job.key}` of the job, `{answer.id}` (a path
 * in what the service answered). All are percent-encoded, and a part of a path never becomes empty, `.` or `..`. `{+answer.name}`
 * keeps the slashes between the parts of a path, which a value of the input cannot have.
 */
export type UrlTemplate = string;

export interface HttpRequestOptions {
  /** @default 'POST' for a start, 'GET' for `find`, what the preset says for `cancel` */
  method?: string;
  url: UrlTemplate;
  /** Sent with this request alone, and only to the start URL's origin or one that may have `credentials`. */
  headers?: Readonly<Record<string, string | Placed>>;
  /** Added to the URL's query. */
  query?: Readonly<Record<string, string | Placed>>;
  /** Sent as JSON. @default of a start with POST, PUT or PATCH the input as it is; else, and with null, nothing */
  body?: BodyTemplate;
}

/** Where a URL is found: the first of several that is there is taken. */
export type UrlSource =
  /** Made of values; may be relative to the start URL. */
  | UrlTemplate
  /** A header of the answer. */
  | { header: string }
  /** In the answer's JSON. */
  | { answer: JsonPath }
  /** The status URL, with this behind its path. */
  | { status: string }
  /** The start URL, with this behind its path, where the start had one of these methods. @default any */
  | { start: string; methods?: readonly string[] };

export interface HttpStartOptions extends HttpRequestOptions {
  /** Statuses that mean that it goes on elsewhere; any other success is the result itself. @default [202] */
  accepted?: readonly number[];
  /** What is answered is the operation as a status request would show it. @default false */
  operation?: boolean;
}

export interface HttpStatusOptions {
  /** Where an answer to the start tells where its status is. */
  url?: UrlSource | readonly UrlSource[];
  /** So long an operation that was just started may be unknown (404), in milliseconds. @default 10_000 */
  appearsWithinMs?: number;
  /** The word for where it stands. Without it, or where it is not there, the HTTP status says so: 202 is working, 2xx is done. */
  state?: JsonPath | readonly JsonPath[];
  /** What words mean, in whatever case. Any other word means that it is at work. */
  states?: Partial<Record<'done' | 'failed' | 'cancelled' | 'lost', readonly string[]>>;
  /** True where it is over. */
  done?: JsonPath;
  /** There, and not null, where it failed. */
  error?: JsonPath;
  /** Values that mean that it failed because it was cancelled. */
  cancelled?: { at: JsonPath; is: readonly (string | number | boolean)[] };
  /** A number, and what it is of. @default for `total`: 100 where only a path is given */
  progress?: JsonPath | { at: JsonPath; total?: JsonPath | number };
  message?: JsonPath | readonly JsonPath[];
  /** Where the result is: in the last status answer, or at a URL. The first that is there is taken. @default the whole answer */
  result?: ResultSource | readonly ResultSource[];
}

export type ResultSource = JsonPath | { url: UrlSource };

export interface HttpCancelOptions {
  method?: string;
  url?: UrlSource;
  body?: JsonValue;
}

/** How a job is found by its key, whose start told nothing or was never heard of. */
export interface HttpFindOptions extends Omit<HttpRequestOptions, 'body'> {
  /** The list in the answer; what is no list is its only member. @default '$' */
  items?: JsonPath;
  /** Where a member of it shows the key. */
  match: JsonPath;
  /** The key is all of it, or within it. @default 'equals' */
  how?: 'equals' | 'includes';
  /** So long after its start a job may be missing in the list, in milliseconds. @default 60_000 */
  appearsWithinMs?: number;
}

export interface HttpIdempotency {
  /** The header that carries the key. @default none: the key is in the start's URL, query or body */
  header?: string;
  /** @default 'key' */
  format?: 'key' | 'uuid';
  /** The service promises that a start under a key that came before starts nothing, and answers the same. @default false */
  honoured?: boolean;
}

export interface HttpWebhookOptions {
  /** What the HMAC (SHA-256) is made with. */
  secret: string | Uint8Array;
  /** The header that carries it. @default 'X-Signature-256' */
  header?: string;
  /** @default 'hex' */
  encoding?: 'hex' | 'base64';
  /** Before it in the header, such as `sha256=`. @default '' */
  prefix?: string;
  /** The header that says when it was sent, in seconds since the Unix epoch, and how far that may be off. @default 5 min */
  timestamp?: { header: string; toleranceMs?: number };
  /** What is signed: `{body}`, `{timestamp}`, `{header.NAME}`. @default '{timestamp}.{body}' with `timestamp`, else '{body}' */
  signed?: string;
  /** The public URL of the hook, which `{ job: 'webhook' }` sends with the job's key in its query. */
  url?: string;
  /** How a request is told to be about a job where it does not come to that URL: a value of the start's answer and of the hook. */
  match?: { answer: JsonPath; hook: JsonPath };
}

/** An API that answers before the work is done. All but the URL of the start may come from a preset. */
export interface HttpToolOptions {
  /** @default 'generic-202' */
  preset?: 'generic-202' | 'aip-151' | 'azure';
  start: HttpStartOptions;
  /** Sent with every request to the start URL's origin, credentials for example; nowhere else but where `credentials` says so. */
  headers?: Readonly<Record<string, string>>;
  status?: HttpStatusOptions;
  /** False: it cannot be cancelled. */
  cancel?: HttpCancelOptions | false;
  find?: HttpFindOptions;
  idempotency?: HttpIdempotency | false;
  /** Where requests may go beside the start URL's origin, such as `https://files.example`; `credentials`: with headers of yours. */
  allowedOrigins?: readonly (string | { origin: string; credentials?: boolean })[];
  /**
   * Reach loopback and private addresses also by names, such as `build.internal`. One that stands as such in the start URL or in
   * `allowedOrigins` is reached anyway; link-local and metadata addresses never. @default false
   */
  allowPrivate?: boolean;
  limits?: {
    /** Of one request and its answer, in milliseconds. @default 30_000 */
    timeoutMs?: number;
    /** Of an answer, in bytes. @default 4 MiB */
    responseBytes?: number;
    /** @default 5 */
    redirects?: number;
  };
  webhook?: HttpWebhookOptions;
  /** Values that are cut out of results and messages, should the service repeat them. */
  secrets?: readonly string[];
  /** How host names are resolved. @default as the system does */
  lookup?: Lookup;
  /** @default the machine's */
  clock?: Clock;
}
