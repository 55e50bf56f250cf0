import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

export const root = join(import.meta.dirname, '../..');

export interface Source {
  file: string;
  tree: ts.SourceFile;
}

/** Every source file below `src`, parsed. */
export function sources(): Source[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const file = `src/${name.replaceAll('\\', '/')}`;
      const tree = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
      return { file, tree };
    });
}

/** The node and everything in it. */
export function nodes(node: ts.Node): ts.Node[] {
  const found = [node];
  ts.forEachChild(node, (child) => void found.push(...nodes(child)));
  return found;
}

/** What stands in a message for what is only known at run time. */
export const HOLE = '…';

/** The text of an expression that is a text; `undefined` for every other one. */
export function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(HOLE);
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined || right === undefined ? undefined : left + right;
}

/** A page of the documentation. */
export function page(name: string): string {
  return readFileSync(join(root, 'docs', name), 'utf8');
}

/** The rows of the first table below a heading, without the heading's row: cells as they are written. */
export function table(text: string, heading: string, nth = 0): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const tables = section.split(/\n\s*\n/).filter((block) => block.startsWith('|'));
  return (tables[nth] ?? '')
    .split('\n')
    .slice(2)
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
