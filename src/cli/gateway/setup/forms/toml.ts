import { type AST, ParseError, parseTOML } from 'toml-eslint-parser';
import {
  at,
  BOM,
  CannotEdit,
  ConfigSyntaxError,
  type Edit,
  edited,
  eolOf,
  indentAt,
  lineAndColumn,
  lineStart,
  type MapTree,
  type Member,
  type Plain,
  quoted,
  type Span,
  type Syntax,
  type Tree,
  withoutBom,
} from './tree.ts';

/** TOML. A table may stand in several places of its file: its tree has all its members, each where it stands. */
export const toml: Syntax = {
  name: 'TOML',
  parse,
  pair: (key, written) => `${keyText(key)} = ${written}`,
  gap,
  put: putTable,
};

function program(text: string): AST.TOMLTopLevelTable {
  try {
    return parseTOML(withoutBom(text)).body[0];
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const { line, column } = lineAndColumn(text, error.index);
    throw new ConfigSyntaxError(error.message, line, column);
  }
}

function parse(text: string): Tree {
  const top = program(text);
  const root: MapTree = { kind: 'map', members: [], start: 0, end: text.length };
  for (const node of top.body) {
    if (node.type === 'TOMLKeyValue') put(root, node, text);
    else if (node.kind === 'standard') {
      const table = node.key.keys.reduce((map, key) => tableIn(map, key, rangeOf(node)), root);
      for (const pair of node.body) put(table, pair, text);
    }
  }
  return root;
}

/** Under a dotted key, the tables that it makes on its way. */
function put(map: MapTree, node: AST.TOMLKeyValue, text: string): void {
  const keys = [...node.key.keys];
  const last = keys.pop();
  if (last === undefined) return;
  const inner = keys.reduce((table, key) => tableIn(table, key, rangeOf(node)), map);
  inner.members.push({ key: nameOf(last), keySpan: rangeOf(last), value: treeOf(node.value, text), ...rangeOf(node) });
}

function tableIn(map: MapTree, key: AST.TOMLBare | AST.TOMLQuoted, span: Span): MapTree {
  const name = nameOf(key);
  const known = map.members.find((member) => member.key === name)?.value;
  if (known?.kind === 'map') return known;
  const made: MapTree = { kind: 'map', members: [], ...span };
  if (known === undefined) map.members.push({ key: name, keySpan: rangeOf(key), value: made, ...span });
  return made; // What is no table, such as an array of them, is nothing that we look into.
}

function treeOf(node: AST.TOMLContentNode, text: string): Tree {
  const span = rangeOf(node);
  switch (node.type) {
    case 'TOMLArray':
      return {
        kind: 'list',
        style: 'flow',
        items: node.elements.map((element) => treeOf(element, text)),
        ...span,
      };
    case 'TOMLInlineTable': {
      const map: MapTree = { kind: 'map', members: [], ...span };
      for (const pair of node.body) put(map, pair, text);
      return map;
    }
    case 'TOMLValue':
      return { kind: 'scalar', value: node.value, ...span };
  }
}

function nameOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value;
}

function rangeOf({ range: [start, end] }: { range: AST.Range }): Span {
  return { start, end };
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : quoted(key);
}

/** Pairs of a table have a line each, those of an inline table follow on one. */
function gap(text: string, member: Member): string {
  const inline = /\S/.test(text.slice(lineStart(text, member.start), member.start));
  return inline ? ', ' : `${eolOf(text)}${indentAt(text, member.start)}`;
}

/** A table at the end of the file, which may stand there whatever comes before it. */
function putTable(before: string, path: readonly string[], name: string, value: Plain): string {
  const exists = at(parse(before), [...path, name]) !== undefined;
  const text = exists ? removed(before, [...path, name]) : before;
  const known = at(parse(text), path);
  if (known !== undefined && known.kind !== 'map') throw new CannotEdit(`${path.join('.')} is not a table`);
  const eol = eolOf(text);
  const ended = text === '' || text === BOM || text.endsWith('\n') ? text : `${text}${eol}`;
  const apart = ended.trim() === '' ? '' : eol;
  const lines = tableLines([...path, name], value as { [key: string]: Plain });
  return `${ended}${apart}${lines.join(eol)}${eol}`;
}

function tableLines(path: readonly string[], table: { readonly [key: string]: Plain }): string[] {
  return [
    `[${path.map(keyText).join('.')}]`,
    ...Object.entries(table).map(([key, value]) => `${keyText(key)} = ${valueText(value)}`),
  ];
}

function valueText(value: Plain): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(valueText).join(', ')}]`;
  const pairs = Object.entries(value).map(([key, one]) => `${keyText(key)} = ${valueText(one)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

function isList(value: Plain): value is readonly Plain[] {
  return Array.isArray(value);
}

/** The tables of this path, and those below, with their lines; not where it was written inside another. */
function removed(text: string, path: readonly string[]): string {
  const edits: Edit[] = [];
  for (const node of program(text).body) {
    const keys = node.key.keys.map(nameOf);
    if (!path.every((key, n) => keys[n] === key)) continue;
    if (node.type !== 'TOMLTable') throw new CannotEdit(`${path.join('.')} is not a table of its own`);
    const { start, end } = rangeOf(node);
    const lineEnd = text.indexOf('\n', end);
    edits.push({ start: lineStart(text, start), end: lineEnd < 0 ? text.length : lineEnd + 1, text: '' });
  }
  if (edits.length === 0) throw new CannotEdit(`${path.join('.')} is not a table of its own`);
  return edited(text, edits);
}
