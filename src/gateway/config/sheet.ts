import type { JsonValue } from '../../core/index.ts';
import type { ConfigProblem } from './problems.ts';

/** Where something stands in a file. */
export interface Place {
  line: number;
  column: number;
}

/** A member of the file: where its name stands, where its value, and how that is written. */
export interface Member {
  key: Place;
  value: Place;
  /** A scalar's text as it is written, without quotes: `0x10` stays `0x10`. */
  text?: string;
}

/** What is read of a file, by JSON pointer, and what is wrong with it so far. */
export class Sheet {
  readonly problems: ConfigProblem[] = [];
  readonly members = new Map<string, Member>();
  readonly #said = new Set<string>();

  /**
   * @param on what is wrong: the value, or that there is such a member at all
   * @param told the member it is told as
   */
  report(pointer: string, message: string, on: 'key' | 'value' = 'value', told = pointer): void {
    this.tell(this.#place(pointer, on), fieldOf(told), message);
  }

  /** What is said already is not said again. */
  tell({ line, column }: Place, field: string, message: string): void {
    const said = JSON.stringify([line, column, field, message]);
    if (this.#said.has(said)) return;
    this.#said.add(said);
    this.problems.push({ line, column, field, message });
  }

  /** A scalar's text as it is written; `undefined` where there is none. */
  text(pointer: string): string | undefined {
    return this.members.get(pointer)?.text;
  }

  /** Of what is not there, the nearest that is. */
  #place(pointer: string, on: 'key' | 'value'): Place {
    for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
      const member = this.members.get(at);
      if (member !== undefined) return member[at === pointer ? on : 'key'];
      if (at === '') return { line: 1, column: 1 };
    }
  }
}

/** The pointer of a member. */
export function inside(pointer: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>((at, key) => `${at}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`, pointer);
}

/** The names on the way to a member. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** `upstreams.github.tools["read_*"].mode` */
export function fieldOf(pointer: string): string {
  return keysOf(pointer).reduce((field, key) => {
    if (/^\d+$/.test(key)) return `${field}[${key}]`;
    if (!/^[\w-]+$/.test(key)) return `${field}[${JSON.stringify(shortened(key))}]`;
    return field === '' ? key : `${field}.${key}`;
  }, '');
}

/** A value in an error. Only of what cannot be secret. */
export function shown(value: JsonValue | undefined): string {
  if (typeof value === 'string') return JSON.stringify(shortened(value));
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
}

/** What kind of value it is, without the value. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text';
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping';
  return typeof value === 'number' ? 'a number' : 'true or false';
}

function shortened(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 39)}…`;
}
