import { applyEdits, modify, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import {
  ConfigSyntaxError,
  eolOf,
  lineAndColumn,
  lineStart,
  type Member,
  type Plain,
  quoted,
  type Span,
  type Syntax,
  type Tree,
} from './tree.ts';

const BOM = '\ufeff';

/** JSON, and what hosts allow beyond it: comments, and a comma after the last member. */
export const json: Syntax = {
  name: 'JSON',
  parse,
  pair: (key, written) => `${quoted(key)}: ${written}`,
  gap,
  added: (text, path, name, value) => changed(text, [...path, name], value),
  removed: (text, path) => changed(text, path, undefined),
};

function parse(text: string): Tree {
  const errors: ParseError[] = [];
  const body = text.startsWith(BOM) ? ` ${text.slice(1)}` : text; // Places stay what they are.
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

function changed(text: string, path: readonly string[], value: Plain | undefined): string {
  const [bom, body] = text.startsWith(BOM) ? [BOM, text.slice(1)] : ['', text];
  const eol = eolOf(body);
  if (body.trim() === '') {
    const whole = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
    return `${bom}${JSON.stringify(whole, null, 2).replaceAll('\n', eol)}${eol}`;
  }
  const indent = /^(\t+| +)\S/m.exec(body)?.[1] ?? '  ';
  const formattingOptions = {
    eol,
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.startsWith('\t') ? 1 : indent.length,
  };
  return bom + applyEdits(body, modify(body, [...path], value, { formattingOptions }));
}
