import { isJsonObject, type JsonValue, type RpcErrorObject } from '../../core/index.ts';

// Arguments that a call repeats in HTTP headers, for whatever stands in between and does not read bodies (SEP-2243).

const DECLARED_BY = 'x-mcp-header';
const PREFIX = 'Mcp-Param-';
/** @see RFC 9110, 5.6.2 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const PRIMITIVES: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean']);
/** How what no header can carry as it is is said. */
const ENCODED = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const HEADER_MISMATCH = -32_020;
/** Schemas nest no deeper, or they are no schemas. */
const MAX_DEPTH = 32;

/** An argument, and the header that repeats it. */
export interface Mirrored {
  path: readonly string[];
  header: string;
}

/** Those of a tool, by its schema as it is listed; none where what it declares is not allowed. */
export function mirroredArguments(inputSchema: unknown): readonly Mirrored[] {
  const found: Mirrored[] = [];
  const collect = (schema: unknown, path: readonly string[]): void => {
    if (!isJsonObject(schema) || path.length > MAX_DEPTH) return;
    const name = schema[DECLARED_BY];
    if (typeof name === 'string' && path.length > 0 && TOKEN.test(name) && PRIMITIVES.has(schema.type)) {
      found.push({ path, header: `${PREFIX}${name}` });
    }
    if (!isJsonObject(schema.properties)) return;
    for (const [key, child] of Object.entries(schema.properties)) collect(child, [...path, key]);
  };
  collect(inputSchema, []);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return names.size === found.length ? found : [];
}

/** The headers of one call. */
export function mirrorHeaders(mirrored: readonly Mirrored[], args: unknown): Record<string, string> {
  const headers = mirrored.flatMap(({ path, header }) => {
    const said = asText(valueAt(args, path));
    return said === undefined ? [] : [[header, encoded(said)] as const];
  });
  return Object.fromEntries(headers);
}

/** What is wrong with the headers of a call; undefined: they say what its arguments say. */
export function mirrorFault(
  mirrored: readonly Mirrored[],
  args: unknown,
  headers: Pick<Headers, 'get'>,
): RpcErrorObject | undefined {
  for (const { path, header } of mirrored) {
    const value = valueAt(args, path);
    const expected = asText(value);
    if (expected === undefined) continue;
    const given = headers.get(header);
    const argument = `argument ${path.join('.')}`;
    if (given === null) return mismatch(header, argument, 'is not there');
    const said = decoded(given);
    if (said === undefined) return mismatch(header, argument, 'is not valid Base64 of UTF-8');
    const same = typeof value === 'number' && DECIMAL.test(said) ? Number(said) === value : said === expected;
    if (!same) return mismatch(header, argument, 'says something else');
  }
  return undefined;
}

/** Whether a call was refused because its headers do not say what its arguments say. */
export function isHeaderMismatch({ code }: RpcErrorObject): boolean {
  return code === HEADER_MISMATCH;
}

function mismatch(header: string, argument: string, what: string): RpcErrorObject {
  const message = `Bad Request: the request headers and body disagree: ${header} has to repeat ${argument}, and ${what}`;
  return { code: HEADER_MISMATCH, message, data: { mismatch: { header, body: argument } } };
}

function valueAt(args: unknown, path: readonly string[]): JsonValue | undefined {
  let value: unknown = args;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value as JsonValue | undefined;
}

/** A number that is not exact is not repeated. */
function asText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

function encoded(text: string): string {
  const asItIs = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !ENCODED.test(text);
  return asItIs ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

function decoded(header: string): string | undefined {
  const [, base64] = ENCODED.exec(header) ?? [];
  if (base64 === undefined) return header;
  if (!BASE64.test(base64)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}
