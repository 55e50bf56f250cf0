import ts from 'typescript';

/**
 * A CommonJS module with each `var` of its own as `const` or, where it is assigned to later, `let`. What is used before it is
 * declared, or declared twice, stays as it is.
 */
export function withoutVar(text) {
  const file = ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const identifiers = identifiersIn(file);
  const lists = file.statements
    .filter((statement) => ts.isVariableStatement(statement) && isVar(statement.declarationList))
    .map(({ declarationList }) => declarationList)
    .filter(({ declarations }) =>
      declarations.every(({ name }) => ts.isIdentifier(name) && mayBeBlock(name, identifiers)),
    );
  let rewritten = text;
  for (const list of lists.toReversed()) {
    const isConst = list.declarations.every(
      ({ name, initializer }) => initializer !== undefined && !isAssigned(name.text, identifiers),
    );
    const start = list.getStart(file);
    rewritten = `${rewritten.slice(0, start)}${isConst ? 'const' : 'let'}${rewritten.slice(start + 'var'.length)}`;
  }
  return { text: rewritten, count: lists.length };
}

function identifiersIn(node, found = []) {
  if (ts.isIdentifier(node)) found.push(node);
  ts.forEachChild(node, (child) => void identifiersIn(child, found));
  return found;
}

function isVar({ flags }) {
  return (flags & ts.NodeFlags.BlockScoped) === 0;
}

function mayBeBlock(name, identifiers) {
  const [first, ...others] = identifiers.filter(({ text }) => text === name.text);
  const isDeclared = (other) => ts.isVariableDeclaration(other.parent) && other.parent.name === other;
  return first === name && !others.some((other) => isDeclared(other) && isVar(other.parent.parent));
}

/** Whether any of that name is assigned to, in whatever scope: rather `let` too often than `const`. */
function isAssigned(name, identifiers) {
  return identifiers.some((identifier) => identifier.text === name && isTarget(identifier));
}

function isTarget(node) {
  const { parent } = node;
  if (ts.isBinaryExpression(parent)) return parent.left === node && isAssignment(parent.operatorToken.kind);
  if (ts.isForInStatement(parent) || ts.isForOfStatement(parent)) return parent.initializer === node;
  if (ts.isPostfixUnaryExpression(parent)) return true;
  if (ts.isPrefixUnaryExpression(parent)) {
    return parent.operator === ts.SyntaxKind.PlusPlusToken || parent.operator === ts.SyntaxKind.MinusMinusToken;
  }
  // A part of a pattern: [one, { other }] = both
  const inPattern =
    ts.isArrayLiteralExpression(parent) ||
    ts.isObjectLiteralExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    ts.isSpreadElement(parent) ||
    ts.isSpreadAssignment(parent) ||
    ts.isParenthesizedExpression(parent);
  return inPattern && isTarget(parent);
}

function isAssignment(kind) {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}
