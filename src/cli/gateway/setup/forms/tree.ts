/** Where something stands in a text: from `start` up to, and without, `end`. */
export interface Span {
  start: number;
  end: number;
}

/** A configuration as it stands in its file, whatever the language: enough of it to change a word and leave all others alone. */
export type Tree = MapTree | ListTree | ScalarTree;

export interface MapTree extends Span {
  kind: 'map';
  members: Member[];
}

export interface Member extends Span {
  key: string;
  /** The key as it is written; of a dotted key or a table's head its last part. */
  keySpan: Span;
  value: Tree;
}

export interface ListTree extends Span {
  kind: 'list';
  items: Tree[];
  /** `block`: an item a line, each after a dash (YAML). */
  style: 'flow' | 'block';
}

export interface ScalarTree extends Span {
  kind: 'scalar';
  value: unknown;
  /** Why its text cannot be put elsewhere as it is written; undefined: it can. */
  bound?: string;
}

/** What differs between languages, when a text is changed. */
export interface Syntax {
  name: 'JSON' | 'YAML' | 'TOML';
  /** @throws {ConfigSyntaxError} */
  parse(text: string): Tree;
  /** A key and its value, as they are written anew. */
  pair(key: string, written: string): string;
  /** What is written between two members, where the second starts at this place. */
  gap(text: string, member: Member): string;
  /**
   * The text with this member in the map at `path`, which is made where there is none; one of that name is replaced.
   * @throws {CannotEdit}
   */
  put(text: string, path: readonly string[], name: string, value: Plain): string;
}

export type Plain = string | number | boolean | readonly Plain[] | { readonly [key: string]: Plain };

/** The text is not what its language allows. */
export class ConfigSyntaxError extends Error {
  override readonly name = 'ConfigSyntaxError';
  readonly line: number;
  readonly column: number;
  constructor(message: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${message}`);
    this.line = line;
    this.column = column;
  }
}

/** Something that can't be changed in place without a risk to what stands around it. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit';
}

/** A text that we have changed, read again. @throws {CannotEdit} when it is no text of its language any more. */
export function readAgain(text: string, syntax: Syntax): Tree {
  try {
    return syntax.parse(text);
  } catch (error) {
    if (error instanceof ConfigSyntaxError) throw new CannotEdit('is written in a way that cannot be changed in place');
    throw error;
  }
}

export interface Edit extends Span {
  text: string;
}

/** @throws when two edits overlap: that would be a mistake of ours. */
export function edited(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, text: put } of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (start < at) throw new Error(`edits overlap at ${start}`);
    result += text.slice(at, start) + put;
    at = end;
  }
  return result + text.slice(at);
}

export function memberOf(tree: Tree | undefined, key: string): Member | undefined {
  return tree?.kind === 'map' ? tree.members.find((member) => member.key === key) : undefined;
}

export function at(tree: Tree, path: readonly string[]): Tree | undefined {
  return path.reduce<Tree | undefined>((node, key) => memberOf(node, key)?.value, tree);
}

/** The value without where it stands. */
export function plain(tree: Tree): unknown {
  switch (tree.kind) {
    case 'map':
      return Object.fromEntries(tree.members.map(({ key, value }) => [key, plain(value)]));
    case 'list':
      return tree.items.map(plain);
    case 'scalar':
      return tree.value;
  }
}

/** A value without what is at this path. */
export function without(value: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { [key]: inner, ...others } = value as Record<string, unknown>;
  return rest.length === 0 ? others : { ...others, [key]: without(inner, rest) };
}

/** Texts are quoted in all three languages as JSON does, but for one character that TOML forbids. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}

/** How the text ends its lines. */
export function eolOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n';
}

export const BOM = '\ufeff';

/** For parsers that take a byte order mark for something written: places stay what they are. */
export function withoutBom(text: string): string {
  return text.startsWith(BOM) ? ` ${text.slice(1)}` : text;
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The white space before the first letter of a line. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';
}

export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - lineStart(text, offset) + 1 };
}
