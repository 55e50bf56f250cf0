import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  type YAMLMap,
} from 'yaml';
import {
  at,
  CannotEdit,
  ConfigSyntaxError,
  edited,
  eolOf,
  indentAt,
  lineAndColumn,
  lineStart,
  type Member,
  type Plain,
  quoted,
  type Span,
  type Syntax,
  type Tree,
} from './tree.ts';

/** YAML. Anchors, aliases and tags tie one place to another: a file with any in what we touch is left alone. */
export const yaml: Syntax = {
  name: 'YAML',
  parse,
  pair: (key, written) => `${key}: ${written}`,
  gap,
  put,
};

function parse(text: string): Tree {
  const document = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, column } = lineAndColumn(text, error.pos[0]);
    throw new ConfigSyntaxError(error.message, line, column);
  }
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) {
    return { kind: 'map', members: [], start: text.length, end: text.length };
  }
  return treeOf(contents, text, document);
}

function treeOf(node: Node, text: string, document: Document): Tree {
  const span = spanOf(node);
  if (isMap(node)) {
    const members = node.items.map((pair) => memberOf(pair as Pair, node, text, document));
    return { kind: 'map', members, ...span, ...ends(node, members) };
  }
  if (isSeq(node)) {
    const items = node.items.map((item) => treeOf(item as Node, text, document));
    return { kind: 'list', style: node.flow === true ? 'flow' : 'block', items, ...span, ...ends(node, items) };
  }
  if (isAlias(node)) return { kind: 'scalar', value: node.toJS(document), bound: 'is an alias', ...span };
  if (!isScalar(node)) throw new CannotEdit('a kind of node that is not known');
  return {
    kind: 'scalar',
    value: node.value,
    ...bound(node, text.slice(span.start, span.end)),
    ...span,
    end: span.start + text.slice(span.start, span.end).trimEnd().length,
  };
}

function memberOf(pair: Pair, map: YAMLMap, text: string, document: Document): Member {
  const key = pair.key as Node;
  const keySpan = key.range == null ? spanOf(map) : spanOf(key);
  const value: Tree =
    pair.value == null
      ? { kind: 'scalar', value: null, start: keySpan.end, end: keySpan.end }
      : treeOf(pair.value as Node, text, document);
  return {
    key: isScalar(key) ? String(key.value) : '',
    keySpan,
    value,
    start: keySpan.start,
    end: Math.max(keySpan.end, value.end),
  };
}

/** In block style where the last of it ends: the parser's own end may be on a line after it. */
function ends({ flow }: { flow?: boolean }, parts: readonly Span[]): { end?: number } {
  const last = parts.at(-1);
  return flow === true || last === undefined ? {} : { end: last.end };
}

/** A plain text reads otherwise between brackets than on a line of its own. */
function bound(node: Scalar, written: string): { bound?: string } {
  if (node.anchor !== undefined || node.tag !== undefined) return { bound: 'has an anchor or a tag' };
  if (written.includes('\n')) return { bound: 'is written over several lines' };
  if (node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE) return {};
  if (node.type === Scalar.PLAIN && /^[\w./\\~][^,[\]{}#]*$/.test(written) && !/:(\s|$)/.test(written)) return {};
  return { bound: 'has signs that mean something else between brackets; put it in quotes first' };
}

function spanOf(node: Node): Span {
  const [start, end] = node.range ?? [0, 0];
  return { start, end };
}

function gap(text: string, member: Member): string {
  const before = text.slice(lineStart(text, member.start), member.start);
  if (!/\S/.test(before)) return `${eolOf(text)}${before}`;
  if (/^\s*(-\s+)+$/.test(before)) return `${eolOf(text)}${' '.repeat(before.length)}`;
  return ', ';
}

/** In block style after what the map has, or as a map of its own at the end of the file. */
function put(before: string, path: readonly string[], name: string, value: Plain): string {
  const exists = at(parse(before), [...path, name]) !== undefined;
  const text = exists ? removed(before, [...path, name]) : before;
  const root = parse(text);
  const known = at(root, path);
  const eol = eolOf(text);
  if (known === undefined) {
    if (path.length !== 1) throw new CannotEdit(`there is no ${path.join('.')}`);
    if (root.kind !== 'map' || text.startsWith('{', root.start))
      throw new CannotEdit('the file is no map in block style');
    const ended = text === '' || text.endsWith('\n') ? text : `${text}${eol}`;
    return `${ended}${[`${path[0]}:`, ...blockLines(name, value, '  ')].join(eol)}${eol}`;
  }
  if (known.kind === 'scalar' && known.value === null) {
    const lineEnd = text.indexOf('\n', known.end);
    const rest = text.slice(known.end, lineEnd < 0 ? text.length : lineEnd);
    if (!/^:?\s*(#.*)?$/.test(rest)) throw new CannotEdit(`${path.join('.')} is no map`);
    const lines = blockLines(name, value, '  ').join(eol);
    if (lineEnd < 0) return `${text}${eol}${lines}${eol}`;
    return edited(text, [{ start: lineEnd + 1, end: lineEnd + 1, text: `${lines}${eol}` }]);
  }
  if (known.kind !== 'map') throw new CannotEdit(`${path.join('.')} is no map`);
  const [first] = known.members;
  const last = known.members.at(-1);
  if (first === undefined || last === undefined || text[known.start] === '{') {
    throw new CannotEdit(`${path.join('.')} is written between braces`);
  }
  const lines = blockLines(name, value, indentAt(text, first.start));
  const lineEnd = text.indexOf('\n', last.end);
  if (lineEnd < 0) return `${text}${eol}${lines.join(eol)}${eol}`;
  return edited(text, [{ start: lineEnd + 1, end: lineEnd + 1, text: `${lines.join(eol)}${eol}` }]);
}

function blockLines(name: string, value: Plain, indent: string): string[] {
  const head = `${indent}${/^[A-Za-z_][\w-]*$/.test(name) ? name : quoted(name)}:`;
  if (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0) {
    return [head, ...Object.entries(value).flatMap(([key, one]) => blockLines(key, one as Plain, `${indent}  `))];
  }
  return [`${head} ${flowText(value)}`];
}

function flowText(value: Plain): string {
  if (typeof value === 'string') return /^[A-Za-z_]+$/.test(value) && !RESERVED.test(value) ? value : quoted(value);
  if (typeof value !== 'object') return String(value);
  return JSON.stringify(value).replaceAll('","', '", "');
}

const RESERVED = /^(true|false|null|yes|no|on|off|y|n)$/i;

function removed(text: string, path: readonly string[]): string {
  const parent = at(parse(text), path.slice(0, -1));
  const member = parent?.kind === 'map' ? parent.members.find(({ key }) => key === path.at(-1)) : undefined;
  if (parent === undefined || member === undefined) throw new CannotEdit(`there is no ${path.join('.')}`);
  if (text[parent.start] === '{') throw new CannotEdit(`${path.slice(0, -1).join('.')} is written between braces`);
  const lineEnd = text.indexOf('\n', member.end - 1);
  return edited(text, [
    { start: lineStart(text, member.start), end: lineEnd < 0 ? text.length : lineEnd + 1, text: '' },
  ]);
}
