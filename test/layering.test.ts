import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

// The rooms under src and the fences between them, read from source text: parsed, never type-checked.
// A new room, or a new arrow between two rooms, starts here.
const rooms: Record<string, readonly string[]> = {
  core: [],
  store: ['core'],
  engine: ['core', 'store'],
  wire: ['core'],
  server: ['core', 'store', 'engine', 'wire'],
  client: ['core', 'store', 'engine', 'wire'],
  // The seam that they are behind is core's; a call of another server goes through the client's journal.
  adapters: ['core', 'engine', 'client'],
  gateway: ['core', 'store', 'engine', 'wire', 'server', 'client', 'adapters'],
  testing: ['core', 'store', 'engine', 'wire', 'server', 'client'],
  cli: ['core', 'store', 'engine', 'wire', 'server', 'client', 'adapters', 'gateway', 'testing'],
  index: ['core', 'store', 'engine'], // src/index.ts, the `.` of the package
};

/** Folders that not even a room's friends may enter: the engine calls TaskStore, never a backend. */
const closedTo: Record<string, readonly string[]> = { engine: ['src/store/sql', 'src/store/sqlite'] };

/** Packages that only some rooms may know. */
const packages: readonly { name: RegExp; rooms: readonly string[] }[] = [
  { name: /^@modelcontextprotocol\/client(\/|$)/, rooms: ['client'] },
  { name: /^@modelcontextprotocol\/(?!client(\/|$))/, rooms: ['server'] },
  // The client's journal is a file of its own kind, on the store's driver and group commit.
  { name: /^(better-sqlite3|kysely)(\/|$)/, rooms: ['store', 'client'] },
  { name: /^ai(\/|$)/, rooms: ['client'] },
  { name: /^(hono(\/|$)|@hono\/)/, rooms: ['server'] },
  { name: /^jose(\/|$)/, rooms: ['server'] },
  { name: /^(commander|diff|jsonc-parser|picocolors|toml-eslint-parser)(\/|$)/, rooms: ['cli'] },
  { name: /^json-p3(\/|$)/, rooms: ['adapters'] }, // Where in a service's answer something stands.
  { name: /^vitest(\/|$)/, rooms: ['testing'] },
  { name: /^longcall(\/|$)/, rooms: [] }, // The package by its own name is a second copy of every class.
];

/** Rooms without I/O, and all that they may import of Node. */
const pureRooms = ['core', 'wire'];
const pureModules = ['node:crypto', 'node:util'];

// Names that belong to the wire. The domain's own words for some of the same things are `ttlMs`, `pollIntervalMs` and
// `inputRequests`.
const wireNames = ['resultType', 'inputResponses', 'pollInterval', 'ttl'];
const wirePrefix = 'io.modelcontextprotocol/';

/** Wire names that a room can't avoid. Each line says why. */
const allowed: Record<string, readonly string[]> = {
  'src/gateway/config/policy-of.ts': ['ttl'], // A member of longcall.yaml, which people write with a unit: `ttl: 7d`.
};

/** What is wrong with one source file; nothing, most of the time. */
function violations(file: string, text: string): string[] {
  const room = roomOf(file);
  const friends = rooms[room];
  if (friends === undefined) return [`${file}: no room "${room}" is known; add it to the rooms of the layering test`];

  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found: string[] = [];
  const report = (node: ts.Node, message: string) => {
    found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${message}`);
  };

  const visit = (node: ts.Node): void => {
    const specifier = importedBy(node);
    if (specifier !== undefined) {
      const problem = importProblem(file, room, friends, specifier);
      if (problem !== undefined) report(node, problem);
    }
    const name = spelled(node);
    if (name !== undefined && room !== 'wire' && isWireName(name) && !allowed[file]?.includes(name)) {
      report(node, `"${name}" is a name of the wire; only src/wire spells it`);
    }
    if (isEntry(file) && ts.isExportDeclaration(node) && node.exportClause === undefined) {
      report(node, 'an entry point lists its exports by name, without `export *`');
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `src/store/sqlite/open.ts` is in `store`; `src/index.ts` is a room of its own. */
function roomOf(file: string): string {
  const [, first = '', ...rest] = file.split('/');
  return rest.length > 0 ? first : first.replace(/\.ts$/, '');
}

function isEntry(file: string): boolean {
  const folders = ['', 'server/', 'server/sdk-v1/', 'client/', 'adapters/', 'testing/'];
  return folders.some((folder) => file === `src/${folder}index.ts`);
}

/** The module a node names: import, re-export, `import()`, or a type's `import('…')`. */
function importedBy(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return textOf(node.moduleSpecifier);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return textOf(node.argument.literal);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return textOf(node.arguments[0]);
  }
  return undefined;
}

function textOf(node: ts.Node | undefined): string | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;
}

function importProblem(file: string, room: string, friends: readonly string[], specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    const other = roomOf(target);
    if (!target.startsWith('src/')) return `${specifier} leaves src`;
    if (other !== room && !friends.includes(other)) return `${room} may not import ${other} (${specifier})`;
    const closed = closedTo[room]?.find((folder) => target.startsWith(`${folder}/`));
    return closed === undefined ? undefined : `${room} may not enter ${closed}`;
  }
  if (pureRooms.includes(room) && specifier.startsWith('node:') && !pureModules.includes(specifier)) {
    return `${room} does no I/O: it may not import ${specifier}`;
  }
  const rule = packages.find(({ name }) => name.test(specifier));
  return rule === undefined || rule.rooms.includes(room) ? undefined : `${room} may not import ${specifier}`;
}

/** Every package that a file imports, or that a file it imports does. */
function packagesReached(entry: string, read: (file: string) => string): string[] {
  const found = new Set<string>();
  const seen = new Set<string>();
  const visitFile = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
    const visit = (node: ts.Node): void => {
      const specifier = importedBy(node);
      if (specifier?.startsWith('.')) visitFile(posix.join(posix.dirname(file), specifier));
      else if (specifier !== undefined) found.add(specifier);
      ts.forEachChild(node, visit);
    };
    visit(source);
  };
  visitFile(entry);
  return [...found];
}

/** The text of an identifier, a property name, a string or a piece of a template; comments don't count. */
function spelled(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node) || ts.isStringLiteralLike(node)) return node.text;
  return ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) ? node.text : undefined;
}

function isWireName(text: string): boolean {
  return wireNames.includes(text) || text.includes(wirePrefix);
}

describe('layering', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = readdirSync(`${root}/src`, { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.ts'));

  it('holds everywhere in src', () => {
    expect(files).toContain('src/core/transition.ts');
    expect(files.flatMap((file) => violations(file, readFileSync(`${root}/${file}`, 'utf8')))).toEqual([]);
  });

  it('needs every exception it lists', () => {
    const unused = Object.entries(allowed).flatMap(([file, names]) =>
      names.filter((name) => !readFileSync(`${root}/${file}`, 'utf8').includes(name)).map((name) => `${file}: ${name}`),
    );
    expect(unused).toEqual([]);
  });

  // Who has one version of the SDK need not have the other: not for types either, which users compile against.
  it.each([
    ['src/server/sdk-v1/index.ts', /^@modelcontextprotocol\/sdk\//, /^@modelcontextprotocol\/server/],
    ['src/server/index.ts', /^@modelcontextprotocol\/server/, /^@modelcontextprotocol\/sdk/],
    ['src/client/index.ts', /^@modelcontextprotocol\/client/, /^(@modelcontextprotocol\/(sdk|server)|ai$)/],
    ['src/adapters/index.ts', /^@modelcontextprotocol\/client/, /^(@modelcontextprotocol\/(sdk|server)|ai$)/],
  ])('reaches from %s one version of the SDK and never the other', (entry, own, other) => {
    const reached = packagesReached(entry, (file) => readFileSync(`${root}/${file}`, 'utf8'));
    expect(reached.filter((name) => own.test(name))).not.toEqual([]);
    expect(reached.filter((name) => other.test(name))).toEqual([]);
  });

  // The fences themselves: each of these texts must be refused, or the test above proves nothing.
  it.each([
    ['src/core/a.ts', `import { run } from '../engine/run.ts';`, 'core may not import engine'],
    ['src/store/a.ts', `import type { Run } from '../engine/run.ts';`, 'store may not import engine'],
    ['src/engine/a.ts', `export { encode } from '../wire/codec.ts';`, 'engine may not import wire'],
    ['src/engine/a.ts', `import { open } from '../store/sqlite/open.ts';`, 'engine may not enter src/store/sqlite'],
    ['src/wire/rev/a.ts', `const { run } = await import('../../engine/run.ts');`, 'wire may not import engine'],
    ['src/server/a.ts', `type Clock = import('../testing/clock.ts').ManualClock;`, 'server may not import testing'],
    ['src/index.ts', `export { listen } from './server/index.ts';`, 'index may not import server'],
    ['src/index.ts', `export * from './core/index.ts';`, 'by name'],
    ['src/attic/a.ts', '', 'no room "attic"'],
    ['src/stray.ts', '', 'no room "stray"'],
    ['src/core/a.ts', `import '../../test/a.ts';`, 'leaves src'],
    ['src/wire/a.ts', `import { McpServer } from '@modelcontextprotocol/server';`, 'wire may not import @model'],
    ['src/engine/a.ts', `import Database from 'better-sqlite3';`, 'engine may not import better-sqlite3'],
    ['src/testing/a.ts', `import { Hono } from 'hono/tiny';`, 'testing may not import hono/tiny'],
    ['src/server/a.ts', `import { newTaskId } from 'longcall';`, 'server may not import longcall'],
    ['src/engine/a.ts', `import { jwtVerify } from 'jose';`, 'engine may not import jose'],
    ['src/engine/a.ts', `import { Command } from 'commander';`, 'engine may not import commander'],
    ['src/server/a.ts', `import { table } from '../cli/format.ts';`, 'server may not import cli'],
    ['src/client/a.ts', `import { listen } from '../server/listen.ts';`, 'client may not import server'],
    ['src/client/a.ts', `import { McpServer } from '@modelcontextprotocol/server';`, 'client may not import @model'],
    ['src/server/a.ts', `import { Client } from '@modelcontextprotocol/client';`, 'server may not import @model'],
    ['src/core/a.ts', `import { readFileSync } from 'node:fs';`, 'core does no I/O'],
    ['src/engine/a.ts', `const body = { resultType: 'complete' };`, '"resultType" is a name of the wire'],
    ['src/server/a.ts', `const answers = params['inputResponses'];`, '"inputResponses" is a name of the wire'],
    ['src/store/a.ts', `const ms = task.pollInterval;`, '"pollInterval" is a name of the wire'],
    ['src/engine/a.ts', `const key = \`io.modelcontextprotocol/\${name}\`;`, 'is a name of the wire'],
  ])('refuses, in %s, %s', (file, text, message) => {
    expect(violations(file, text).join('\n')).toContain(message);
  });

  it.each([
    ['src/server/a.ts', `import { Hono } from 'hono'; import { transition } from '../core/transition.ts';`],
    ['src/store/sqlite/a.ts', `import Database from 'better-sqlite3'; import type { TaskStore } from '../store.ts';`],
    ['src/wire/rev/a.ts', `export const body = { resultType: 'complete', ttl: 1 };`],
    ['src/core/a.ts', `// resultType is the wire's\nexport interface Open { inputRequests: string; ttlMs: number }`],
  ])('lets pass, in %s, %s', (file, text) => {
    expect(violations(file, text)).toEqual([]);
  });
});
