import { NonRetryableError } from '../../core/index.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What Node writes, and what would cut messages in another way than Node does. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Visible characters of ISO 8859-1, spaces and tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** @throws {TypeError} naming `field` when no such header may be set. @returns in lower case */
export function headerName(name: string, field: string): string {
  const lower = typeof name === 'string' ? name.toLowerCase() : '';
  if (!TOKEN.test(lower) || RESERVED.has(lower)) {
    throw new TypeError(`httpTool: ${field}: no header of this name can be set: ${JSON.stringify(name)}`);
  }
  return lower;
}

/** @throws {NonRetryableError} when it cannot be a header's value: line breaks would begin another header. */
export function headerValue(value: string, field: string): string {
  if (!VALUE.test(value)) {
    throw new NonRetryableError(
      `${field}: the value of a header must have no line breaks and nothing beyond ISO 8859-1`,
    );
  }
  return value;
}
