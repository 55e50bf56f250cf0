import type { JsonObject } from './json.ts';
import { unreachable } from './unreachable.ts';

/** Something a running task wants to know from the requestor's side. Each revision spells it in its own words. */
export type Question =
  /** A form for a person. `schema` is a flat JSON Schema object of primitive properties: all that hosts can draw. */
  | { kind: 'form'; message: string; schema: JsonObject }
  /** A page for a person to visit; what they do there does not come back here. */
  | { kind: 'url'; message: string; url: string }
  /** A message for the requestor's model to answer; `params` as MCP's sampling has them. */
  | { kind: 'sampling'; params: JsonObject }
  /** The folders the requestor works in. */
  | { kind: 'roots' };

/**
 * What came back: the person filled the form in, said no, closed it, or let its deadline pass. What a model said, or which
 * roots there are, is content too.
 */
export type Answer =
  | { action: 'accept'; content: JsonObject }
  | { action: 'decline' }
  | { action: 'cancel' }
  | { action: 'expired' };

/** Questions by key. A key is never used twice in the life of a task. */
export type InputRequests = Record<string, Question>;

/** What people read about a question, where it has no words of its own. */
export function questionText(question: Question): string {
  switch (question.kind) {
    case 'form':
      return question.message;
    case 'url':
      return `${question.message} (${question.url})`;
    case 'sampling':
      return "a message for the client's model";
    case 'roots':
      return 'which folders the client works in';
    default:
      return unreachable(question);
  }
}

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
