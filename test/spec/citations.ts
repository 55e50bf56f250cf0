import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';

/** A requirement or case that a test's title names in brackets, as in `it('finds it at once [G3-S-11]', ...)`. */
export interface Citation {
  id: string;
  /** Path from the root of the project, with forward slashes. */
  file: string;
  line: number;
  /** False for a test that is skipped, still to be written, or expected to fail: such a test shows nothing. */
  runs: boolean;
}

// Loose on purpose: `[G3-S-1]` or `[G3-S-11, G3-S-12]` has to come out as an id nobody knows, not go unseen.
const idInTitle = /\[((?:G\d[A-Z]?-|GW-|C-\d)[^\]]*)\]/g;
const testNames = ['it', 'test', 'describe', 'suite'];
const groups = new Set(['describe', 'suite']);
const silencing = new Set(['skip', 'todo', 'fails']);
// `it.each(rows)` returns the function that takes the title; its own arguments hold none.
const returnsTest = new Set(['each', 'for', 'skipIf', 'runIf', 'extend']);

/** A test, or a group of them, as its title has it: what is only known at run time is left out. */
export interface Titled {
  title: string;
  line: number;
  /** False for a test that is skipped, still to be written, or expected to fail: such a test shows nothing. */
  runs: boolean;
  kind: 'test' | 'group';
}

/** Everything in one test file that has a title. */
export function titlesIn(file: string, source: string): Titled[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const roots = new Set(testNames);
  const found: Titled[] = [];

  function visit(node: ts.Node, silenced: boolean): void {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      const made = chainOf(node.initializer);
      if (made && roots.has(made.root) && made.names.includes('extend')) roots.add(node.name.text);
    }
    let inner = silenced;
    const chain = ts.isCallExpression(node) ? chainOf(node.expression) : undefined;
    if (ts.isCallExpression(node) && chain && roots.has(chain.root) && !returnsTest.has(chain.last ?? '')) {
      inner ||= chain.names.some((name) => silencing.has(name)) || node.arguments.some(isSilencingOption);
      const title = node.arguments[0] ? textOf(node.arguments[0]) : '';
      const line = tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
      found.push({ title, line, runs: !inner, kind: groups.has(chain.root) ? 'group' : 'test' });
    }
    ts.forEachChild(node, (child) => visit(child, inner));
  }
  visit(tree, false);
  return found;
}

/** The citations in one test file. Only titles count: an id in a comment or in a test's body is none. */
export function citationsIn(file: string, source: string): Citation[] {
  return titlesIn(file, source).flatMap(({ title, line, runs }) =>
    [...title.matchAll(idInTitle)].map(([, id]) => ({ id: id!, file, line, runs })),
  );
}

/** The citations in all test files below `test/`. */
export function scanTests(root: string): Citation[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .flatMap((name) => {
      const path = join(root, 'test', name);
      return citationsIn(relative(root, path).split(sep).join('/'), readFileSync(path, 'utf8'));
    });
}

/** `it.skip.each(rows)` is the chain of root `it` and names `skip`, `each`; `last` is what is called at the end. */
function chainOf(expression: ts.Expression): { root: string; names: string[]; last?: string } | undefined {
  if (ts.isIdentifier(expression)) return { root: expression.text, names: [] };
  if (ts.isPropertyAccessExpression(expression)) {
    const before = chainOf(expression.expression);
    const name = expression.name.text;
    return before && { root: before.root, names: [...before.names, name], last: name };
  }
  const called = ts.isCallExpression(expression)
    ? expression.expression
    : ts.isTaggedTemplateExpression(expression)
      ? expression.tag
      : undefined;
  const before = called && chainOf(called);
  return before && { root: before.root, names: before.names };
}

/** The literal text of a title; what is only known at run time is left out. */
function textOf(title: ts.Expression): string {
  if (ts.isStringLiteralLike(title)) return title.text;
  if (ts.isParenthesizedExpression(title)) return textOf(title.expression);
  if (ts.isTemplateExpression(title)) {
    return [title.head.text, ...title.templateSpans.map((span) => span.literal.text)].join('\n');
  }
  if (ts.isBinaryExpression(title) && title.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return textOf(title.left) + textOf(title.right);
  }
  return '';
}

function isSilencingOption(argument: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(argument)) return false;
  return argument.properties.some(
    (property) =>
      ts.isPropertyAssignment(property) &&
      ts.isIdentifier(property.name) &&
      silencing.has(property.name.text) &&
      property.initializer.kind === ts.SyntaxKind.TrueKeyword,
  );
}
