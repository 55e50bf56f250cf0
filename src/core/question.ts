import type { JsonObject } from './json.ts';

/**
 * Something a running task wants to know from the requestor's side. Each revision spells it in its own words.
 * `schema` is a flat JSON Schema object of primitive properties: all that hosts can draw as a form.
 */
export type Question = { kind: 'form'; message: string; schema: JsonObject };

/** What came back: the person filled the form in, said no, closed it, or let its deadline pass. */
export type Answer =
  | { action: 'accept'; content: JsonObject }
  | { action: 'decline' }
  | { action: 'cancel' }
  | { action: 'expired' };

/** Questions by key. A key is never used twice in the life of a task. */
export type InputRequests = Record<string, Question>;

/** Names that can be keys as they are: header-, file- and HTML-safe, with room for an ordinal in 64 characters. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,56}$/;
/** What the ordinal of a repeated name looks like; a name that looks the same is hashed, so the two cannot meet. */
const ORDINAL_SUFFIX = /-\d+$/;

/**
 * The key under which the `ordinal`th question named `name` is asked. The same name and ordinal give the same key on
 * every run, which is how a handler that starts again finds the answer it was given before.
 */
export function questionKey(name: string, ordinal: number): string {
  const base = PLAIN_NAME.test(name) && !ORDINAL_SUFFIX.test(name) ? name : slug(name);
  return ordinal === 1 ? base : `${base}-${ordinal}`;
}

function slug(name: string): string {
  const readable = name
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  // Two names with one readable form stay apart: the hash is of the whole name.
  return `${readable || 'q'}-${fnv1a(name)}`;
}

function fnv1a(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(36);
}
