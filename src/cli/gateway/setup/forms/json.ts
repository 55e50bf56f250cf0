import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import {
  at,
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

/** JSON, and what hosts allow beyond it: comments, and a comma after the last member. */
export const json: Syntax = {
  name: 'JSON',
  parse,
  pair: (key, written) => `${quoted(key)}: ${written}`,
  gap,
  put,
};

function parse(text: string): Tree {
  const errors: ParseError[] = [];
  const body = withoutBom(text);
  if (body.trim() === '') return { kind: 'map', members: [], start: text.length, end: text.length };
  const root = parseTree(body, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined || root === undefined) {
    const { line, column } = lineAndColumn(text, error?.offset ?? 0);
    const code = error === undefined ? 'nothing there' : printParseErrorCode(error.error);
    throw new ConfigSyntaxError(words(code), line, column);
  }
  return treeOf(root);
}

/** On a line of its own where the second one has one. */
function gap(text: string, { start }: Member): string {
  const before = text.slice(lineStart(text, start), start);
  return /\S/.test(before) ? ', ' : `,${eolOf(text)}${before}`;
}

/** `PropertyNameExpected` in words. */
function words(code: string): string {
  return code.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

function treeOf(node: Node): Tree {
  const span = spanOf(node);
  switch (node.type) {
    case 'object':
      return { kind: 'map', members: (node.children ?? []).flatMap(memberOf), ...span };
    case 'array':
      return { kind: 'list', style: 'flow', items: (node.children ?? []).map(treeOf), ...span };
    default:
      return { kind: 'scalar', value: node.value as unknown, ...span };
  }
}

function memberOf(node: Node): Member[] {
  const [key, value] = node.children ?? [];
  if (key === undefined || value === undefined) return [];
  return [{ key: String(key.value), keySpan: spanOf(key), value: treeOf(value), ...spanOf(node) }];
}

function spanOf({ offset, length }: Node): Span {
  return { start: offset, end: offset + length };
}

/** As its neighbours are written: on lines of their own, or on one with them. */
function put(text: string, path: readonly string[], name: string, value: Plain): string {
  const style = { eol: eolOf(text), unit: /^(\t| +)\S/m.exec(text)?.[1] ?? '  ' };
  const whole = [...path, name];
  const root = parse(text);
  if (root.start === root.end) {
    const made = nested(whole, value);
    return `${text}${written(made, '', style)}${style.eol}`;
  }
  const depth = whole.findIndex((_key, n) => at(root, whole.slice(0, n + 1)) === undefined);
  const known = at(root, depth < 0 ? whole : whole.slice(0, depth));
  if (known === undefined) throw new CannotEdit('nowhere to put it');
  if (depth < 0)
    return edited(text, [{ ...spanOfTree(known), text: written(value, indentAt(text, known.start), style) }]);
  if (known.kind !== 'map') throw new CannotEdit(`"${whole.slice(0, depth).join('.')}" is no object`);
  return edited(text, addition(text, known, whole[depth] ?? '', nested(whole.slice(depth + 1), value), style));
}

interface Style {
  eol: string;
  unit: string;
}

function addition(text: string, map: MapTree, key: string, value: Plain, style: Style): Edit[] {
  const last = map.members.at(-1);
  const close = map.end - 1;
  const outer = indentAt(text, map.start);
  if (last === undefined) {
    const inner = `${outer}${style.unit}`;
    const pair = `${style.eol}${inner}${quoted(key)}: ${written(value, inner, style)}${style.eol}${outer}`;
    return [{ start: close, end: close, text: pair }];
  }
  const [skipped = '', comma] = /^(?:\s|\/\*[\s\S]*?\*\/|\/\/.*)*(,)?/.exec(text.slice(last.end, close)) ?? [];
  const after = comma === undefined ? last.end : last.end + skipped.length;
  const needed = comma === undefined ? [{ start: last.end, end: last.end, text: ',' }] : [];
  const [lineRest] = /^(?:[ \t]|\/\*.*?\*\/|\/\/.*)*\r?\n/.exec(text.slice(after, close)) ?? [];
  if (lineRest === undefined) {
    // On the line of its neighbour: as short as that.
    const pair = `${comma === undefined ? ', ' : ' '}${quoted(key)}: ${JSON.stringify(value)}${comma ?? ''}`;
    return [{ start: after, end: after, text: pair }];
  }
  const first = map.members[0];
  const own = first !== undefined && !/\S/.test(text.slice(lineStart(text, first.start), first.start));
  const inner = own ? indentAt(text, first.start) : `${outer}${style.unit}`;
  const line = `${inner}${quoted(key)}: ${written(value, inner, style)}${comma ?? ''}${style.eol}`;
  return [...needed, { start: after + lineRest.length, end: after + lineRest.length, text: line }];
}

function nested(path: readonly string[], value: Plain): Plain {
  return path.reduceRight<Plain>((inner, key) => ({ [key]: inner }), value);
}

function written(value: Plain, indent: string, { eol, unit }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`);
}

function spanOfTree({ start, end }: Tree): Span {
  return { start, end };
}
