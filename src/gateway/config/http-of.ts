import { inputChecker } from '../../adapters/http/check-input.ts';
import type { HttpToolOptions, HttpWebhookOptions, Placed } from '../../adapters/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { InputPlaces } from './input-places.ts';
import { ownToolOf, type WrittenOwnTool } from './own-tool-of.ts';
import { inside, type Sheet } from './sheet.ts';
import type { Scalar, Texts } from './texts.ts';
import type { HttpToolConfig } from './types.ts';
import { bytes, milliseconds } from './units.ts';

type Filled = Record<string, Scalar | Placed>;

/** An operation of an API as it stands in the file, checked: what is wrong is not in it. */
export interface WrittenHttpTool extends WrittenOwnTool {
  preset?: HttpToolOptions['preset'];
  start?: { method?: string; url?: string; headers?: Filled; query?: Filled; body?: JsonValue } & JsonObject;
  headers?: Record<string, Scalar>;
  status?: JsonObject & { appearsWithin?: string };
  cancel?: false | JsonObject;
  find?: { url?: string; headers?: Record<string, Scalar>; query?: Filled; appearsWithin?: string } & JsonObject;
  idempotency?: false | JsonObject;
  allowedOrigins?: JsonValue[];
  allowPrivate?: boolean;
  limits?: { request?: string; response?: string; redirects?: number };
  webhook?: JsonObject & { secret?: string; timestamp?: { header: string; tolerance?: string } };
}

/** The APIs of a file, without those that have a problem. @param publicUrl where hooks reach the gateway from outside */
export function httpToolsOf(
  written: Readonly<Record<string, WrittenHttpTool>>,
  texts: Texts,
  publicUrl: string | undefined,
): HttpToolConfig[] {
  return Object.keys(written).flatMap((name): HttpToolConfig[] => {
    const tool = written[name];
    if (tool === undefined) return [];
    return new HttpToolReader(inside('/http', name), name, texts, publicUrl).read(tool) ?? [];
  });
}

class HttpToolReader {
  readonly #pointer: string;
  readonly #name: string;
  readonly #texts: Texts;
  readonly #publicUrl: string | undefined;

  constructor(pointer: string, name: string, texts: Texts, publicUrl: string | undefined) {
    this.#pointer = pointer;
    this.#name = name;
    this.#texts = texts;
    this.#publicUrl = publicUrl;
  }

  read(written: WrittenHttpTool): HttpToolConfig[] | undefined {
    const { sheet, references } = this.#texts;
    const problems = sheet.problems.length;
    const own = ownToolOf(this.#pointer, this.#name, written, sheet);
    const places = new InputPlaces(own?.input, sheet);
    const { value: options, secrets } = references.secretsIn(() => this.#optionsOf(written, places));
    if (own === undefined || sheet.problems.length > problems) return undefined;
    if (!this.#works(options)) return undefined;
    return [{ ...own, secrets, options: { ...options, secrets } }];
  }

  #optionsOf(written: WrittenHttpTool, places: InputPlaces): HttpToolOptions {
    const { preset, start = {}, headers, status, cancel, find, idempotency, allowedOrigins, allowPrivate } = written;
    const at = (...keys: string[]): string => inside(this.#pointer, ...keys);
    return {
      ...(preset !== undefined && { preset }),
      start: this.#request(at('start'), start, places),
      ...(headers !== undefined && { headers: this.#texts.named(at('headers'), headers) }),
      ...(status !== undefined && { status: this.#timed(at('status'), status) }),
      ...(cancel !== undefined && { cancel: cancel === false ? cancel : this.#plain(at('cancel'), cancel) }),
      ...(find !== undefined && { find: this.#request(at('find'), this.#timed(at('find'), find), places) }),
      ...(idempotency !== undefined && { idempotency }),
      ...(allowedOrigins !== undefined && { allowedOrigins: this.#plain(at('allowedOrigins'), allowedOrigins) }),
      ...(allowPrivate !== undefined && { allowPrivate }),
      ...(written.limits !== undefined && { limits: limitsOf(written.limits) }),
      ...(written.webhook !== undefined && { webhook: this.#webhook(at('webhook'), written.webhook) }),
    } as unknown as HttpToolOptions; // The schema has seen to what each of them is.
  }

  /** What no schema says: paths, templates, and what goes with what. */
  #works(options: HttpToolOptions): boolean {
    try {
      inputChecker(options);
      return true;
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
      const [, field = '', message = error.message] = /^httpTool: ([\w.[\]-]+)(?: |: )(.*)$/s.exec(error.message) ?? [];
      const keys = field.split(/[.[\]]+/).filter((key) => key !== '');
      this.#texts.sheet.report(inside(this.#pointer, ...keys), message);
      return false;
    }
  }

  /** Of a start, or of a search: what goes out. */
  #request(pointer: string, written: JsonObject, places: InputPlaces): JsonObject {
    const { url, headers, query, body, ...rest } = written as NonNullable<WrittenHttpTool['start']>;
    const texts = this.#texts;
    const made = url === undefined ? undefined : texts.one(inside(pointer, 'url'), url);
    for (const [, name = ''] of (url ?? '').matchAll(/\{(?:input\.)?([\w-]+)\}/g)) {
      places.check(inside(pointer, 'url'), name, 'text');
    }
    return {
      ...rest,
      url: made ?? '',
      ...(headers !== undefined && { headers: this.#filled(inside(pointer, 'headers'), headers, places) }),
      ...(query !== undefined && { query: this.#filled(inside(pointer, 'query'), query, places) }),
      ...(body !== undefined && { body: this.#body(inside(pointer, 'body'), body, places) }),
    };
  }

  #filled(pointer: string, written: Filled, places: InputPlaces): JsonObject {
    const literal: Record<string, Scalar> = {};
    const placed: [string, JsonValue][] = [];
    for (const [name, value] of Object.entries(written)) {
      if (!isJsonObject(value)) literal[name] = value as Scalar;
      else placed.push([name, this.#place(inside(pointer, name), value, places)]);
    }
    return { ...this.#texts.named(pointer, literal), ...Object.fromEntries(placed) };
  }

  #place(pointer: string, value: JsonObject, places: InputPlaces): JsonObject {
    const { input, job } = value;
    if (typeof input === 'string' && !input.startsWith('$')) places.check(inside(pointer, 'input'), input, 'text');
    if (job === 'webhook' && this.#publicUrl === undefined) {
      this.#texts.sheet.report(
        inside(pointer, 'job'),
        'expected publicUrl at the top of this file, or nobody could call back',
      );
    }
    return value;
  }

  #body(pointer: string, value: JsonValue, places: InputPlaces): JsonValue {
    if (typeof value === 'string') return this.#texts.one(pointer, value) ?? '';
    if (Array.isArray(value)) return value.map((item, at) => this.#body(inside(pointer, String(at)), item, places));
    if (!isJsonObject(value)) return value;
    const names = Object.keys(value);
    if (names.length === 1 && names[0] === 'literal') return value;
    if (names.length === 1 && (names[0] === 'input' || names[0] === 'job') && typeof value[names[0]] === 'string') {
      return this.#place(pointer, value, places);
    }
    return Object.fromEntries(
      names.map((name) => [name, this.#body(inside(pointer, name), value[name] as JsonValue, places)]),
    );
  }

  /** Texts in it, with what they refer to. */
  #plain<Value extends JsonValue>(pointer: string, value: Value): Value {
    const put = (at: string, one: JsonValue): JsonValue => {
      if (typeof one === 'string') return this.#texts.one(at, one) ?? '';
      if (Array.isArray(one)) return one.map((item, index) => put(inside(at, String(index)), item));
      if (!isJsonObject(one)) return one;
      return Object.fromEntries(Object.entries(one).map(([name, item]) => [name, put(inside(at, name), item)]));
    };
    return put(pointer, value) as Value;
  }

  #timed(pointer: string, { appearsWithin, ...rest }: JsonObject & { appearsWithin?: string }): JsonObject {
    const { headers, ...others } = rest;
    return {
      ...(pointer.endsWith('/find') ? others : this.#plain(pointer, others)),
      ...(headers !== undefined && { headers }),
      ...(appearsWithin !== undefined && { appearsWithinMs: milliseconds(appearsWithin) }),
    };
  }

  #webhook(
    pointer: string,
    { secret, timestamp, ...rest }: NonNullable<WrittenHttpTool['webhook']>,
  ): HttpWebhookOptions {
    const hooks = this.#publicUrl;
    return {
      ...rest,
      secret: secret === undefined ? '' : (this.#texts.one(inside(pointer, 'secret'), secret, { secret: true }) ?? ''),
      ...(timestamp !== undefined && {
        timestamp: {
          header: timestamp.header,
          ...(timestamp.tolerance !== undefined && { toleranceMs: milliseconds(timestamp.tolerance) }),
        },
      }),
      ...(hooks !== undefined && { url: `${hooks.replace(/\/$/, '')}/hooks/${this.#name}` }),
    };
  }
}

function limitsOf({ request, response, redirects }: NonNullable<WrittenHttpTool['limits']>): HttpToolOptions['limits'] {
  return {
    ...(request !== undefined && { timeoutMs: milliseconds(request) }),
    ...(response !== undefined && { responseBytes: bytes(response) }),
    ...(redirects !== undefined && { redirects }),
  };
}

/** Where the gateway is reached from outside. */
export function publicUrlOf(written: string, texts: { one: Texts['one']; sheet: Sheet }): string | undefined {
  const url = texts.one('/publicUrl', written);
  if (url === undefined) return undefined;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && !/[?#]/.test(url)) return url;
  texts.sheet.report('/publicUrl', 'expected an address that begins with http:// or https://, without ? and #');
  return undefined;
}
