import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../core/index.ts';
import { headerName, headerValue } from './header-fields.ts';
import type { BodyTemplate, HttpFindOptions, HttpRequestOptions, Placed } from './options.ts';
import type { HttpRequest } from './send.ts';
import { urlTemplate } from './url-template.ts';
import { bodyOf, type Pick, pickOf, type Values } from './values.ts';

/** @throws {NonRetryableError} when a value of the input cannot be in it */
export type MakeRequest = (values: Values) => HttpRequest;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const WITH_BODY = ['POST', 'PUT', 'PATCH'];

/** @throws {TypeError} naming the option that cannot work. */
export function requestOf(
  options: HttpRequestOptions | HttpFindOptions,
  field: string,
  { method: byDefault, headers: shared }: { method: string; headers: Readonly<Record<string, string>> },
): MakeRequest {
  const method = checkedMethod(options.method ?? byDefault, `${field}.method`);
  const makeUrl = urlTemplate(options.url, `${field}.url`);
  const query = Object.entries(options.query ?? {}).map(
    ([name, value]) => [name, pickOf(value, `${field}.query.${name}`)] as const,
  );
  const headers = headersOf(options.headers ?? {}, `${field}.headers`);
  const template: BodyTemplate | undefined = 'body' in options ? options.body : undefined;
  const makeBody = bodyMaker(template, method, `${field}.body`);
  return (values) => {
    const url = new URL(makeUrl(values));
    for (const [name, pick] of query) {
      const value = pick(values);
      if (value !== undefined) url.searchParams.append(name, value);
    }
    const own = headers.flatMap(([name, pick, where]) => {
      const value = pick(values);
      return value === undefined ? [] : [[name, headerValue(value, where)] as const];
    });
    const body = makeBody(values);
    return {
      method,
      url,
      configured: { ...shared, ...Object.fromEntries(own) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
  };
}

export function checkedMethod(method: string, field: string): string {
  if (METHODS.includes(method)) return method;
  throw new TypeError(`httpTool: ${field} must be one of ${METHODS.join(', ')}, got ${JSON.stringify(method)}`);
}

/** Headers that are sent as they are, by their names in lower case. @throws {TypeError} */
export function fixedHeaders(headers: Readonly<Record<string, string>>, field: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (typeof value !== 'string') throw new TypeError(`httpTool: ${field}.${name} must be a text`);
      try {
        return [headerName(name, field), headerValue(value, `${field}.${name}`)];
      } catch (error) {
        throw new TypeError(`httpTool: ${(error as Error).message.replace(/^httpTool: /, '')}`);
      }
    }),
  );
}

/** What of a job may be put into requests. */
export function jobValues(key: string, webhook: string | undefined): Values['job'] {
  return { key, uuid: uuidOf(key), webhook: webhook === undefined ? undefined : callbackUrl(webhook, key) };
}

/** The same key always gives the same: a UUID of the kind that anybody may make in a way of his own. @see RFC 9562, 5.8 */
function uuidOf(key: string): string {
  const bytes = createHash('sha256').update(`longcall http ${key}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The member of a hook's query that says which job it is about. */
export const HOOK_JOB = 'job';

function callbackUrl(webhook: string, key: string): string {
  const url = new URL(webhook);
  url.searchParams.set(HOOK_JOB, key);
  return url.href;
}

function headersOf(headers: Readonly<Record<string, string | Placed>>, field: string): [string, Pick, string][] {
  return Object.entries(headers).map(([name, value]) => {
    const where = `${field}.${name}`;
    return [headerName(name, field), pickOf(value, where), where];
  });
}

function bodyMaker(
  template: BodyTemplate | undefined,
  method: string,
  field: string,
): (values: Values) => JsonValue | undefined {
  if (template === null) return () => undefined;
  if (template !== undefined) {
    const made = bodyOf(template, field);
    return (values) => made(values) ?? ({} as JsonObject);
  }
  return WITH_BODY.includes(method) ? ({ input }) => input : () => undefined;
}
