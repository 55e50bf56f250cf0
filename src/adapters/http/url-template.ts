import { type JsonValue, NonRetryableError } from '../../core/index.ts';
import { pathOf } from './json-path.ts';
import type { UrlTemplate } from './options.ts';
import { JOB_VALUES, MissingValueError, textOf, type Values } from './values.ts';

/** @throws {NonRetryableError} when a value is missing or would change what the URL is about */
export type MakeUrl = (values: Values) => string;

interface Placeholder {
  name: string;
  /** Slashes in it part the path. */
  parts: boolean;
  find: (values: Values) => JsonValue | undefined;
}

const PLACEHOLDER = /\{(\+?)([^{}]*)\}/g;
const ORIGIN = /^https?:\/\/[^/?#{}\\\s@]+(?=[/?]|$)/i;

/**
 * Percent-encoding keeps a value within its place; what a parser of URLs makes of whole parts of a path (`..`, `%2e%2e`, nothing) is
 * refused. What a proxy on the way makes of `%2F` is not known, so a value may have slashes, but no such parts between them either.
 * @throws {TypeError} naming `field` when it is no such template.
 */
export function urlTemplate(template: UrlTemplate, field: string, { relative = false } = {}): MakeUrl {
  if (typeof template !== 'string' || template === '') throw new TypeError(`httpTool: ${field} must be a URL`);
  const found = ORIGIN.exec(template)?.[0];
  const origin = found !== undefined && URL.canParse(found) ? found : undefined;
  if (origin === undefined && !(relative && /^\/(?![/\\])/.test(template))) {
    const form = relative ? 'a URL, or a path from /' : 'an http or https URL without a user name';
    throw new TypeError(`httpTool: ${field} must be ${form}, with values only in its path and query`);
  }
  if (template.includes('#')) throw new TypeError(`httpTool: ${field} must have no fragment (#)`);
  const rest = template.slice(origin?.length ?? 0);
  const at = rest.indexOf('?');
  const path = (at === -1 ? rest : rest.slice(0, at)).split('/').map((part) => piecesOf(part, field));
  const query = at === -1 ? [] : piecesOf(rest.slice(at), field);
  if (/[{}]/.test(template.replaceAll(PLACEHOLDER, ''))) throw new TypeError(`httpTool: ${field} has a stray { or }`);
  return (values) => {
    const parts = path.map((pieces) => partOf(pieces, values, field));
    const asked = query.map((piece) => (typeof piece === 'string' ? piece : encoded(valueAt(piece, values, field))));
    return `${origin ?? ''}${parts.join('/')}${asked.join('')}`;
  };
}

function piecesOf(text: string, field: string): (string | Placeholder)[] {
  const pieces: (string | Placeholder)[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, plus, name = ''] = match;
    pieces.push(text.slice(end, match.index), placeholderOf(name, plus === '+', field));
    end = match.index + whole.length;
  }
  return [...pieces, text.slice(end)];
}

function placeholderOf(name: string, parts: boolean, field: string): Placeholder {
  const [, from, path = ''] = /^(?:(input|answer|job)\.)?(.+)$/.exec(name) ?? [];
  const where = `${field}: {${name}}`;
  if (path === '') throw new TypeError(`httpTool: ${where} names nothing`);
  if (parts && from !== 'answer') throw new TypeError(`httpTool: ${where}: only answers may be put in with +`);
  if (from === 'job') {
    const job = JOB_VALUES.find((value) => value === path);
    if (job === undefined) throw new TypeError(`httpTool: ${where}: of the job there are key, uuid and webhook`);
    return { name, parts, find: (values) => values.job[job] };
  }
  const find = pathOf(/^[\w-]+(\.[\w-]+)+$/.test(path) ? `$.${path}` : path, where);
  return { name, parts, find: from === 'answer' ? ({ answer }) => find(answer) : ({ input }) => find(input) };
}

/** One part of a path, between its slashes. */
function partOf(pieces: readonly (string | Placeholder)[], values: Values, field: string): string {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  const texts = pieces.map((piece) => {
    if (typeof piece === 'string') return piece;
    const value = valueAt(piece, values, field);
    return piece.parts ? value.split('/').map(encoded).join('/') : encoded(value);
  });
  const made = texts.join('');
  // Encoded or not, and whichever slash: what stands between slashes must be something.
  const between = made.split(/\/|%2f|%5c/i).map((part) => part.replaceAll(/%2e/gi, '.'));
  if (between.some((part) => part === '' || part === '.' || part === '..')) {
    const names = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [`{${piece.name}}`]));
    throw new NonRetryableError(`${field}: ${names.join('')} must not make a part of the path empty, . or ..`);
  }
  return made;
}

function valueAt({ name, find }: Placeholder, values: Values, field: string): string {
  const value = textOf(find(values), `${field}: {${name}}`);
  if (value === undefined) throw new MissingValueError(`${field}: {${name}} is needed and was not given`);
  return value;
}

function encoded(value: string): string {
  if (/\p{Cc}/u.test(value)) throw new NonRetryableError('a value for a URL has control characters in it');
  try {
    return encodeURIComponent(value);
  } catch (error) {
    throw new NonRetryableError('a value for a URL is not well-formed Unicode', { cause: error });
  }
}
