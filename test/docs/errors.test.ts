import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type McpServer, OAuthErrorCode, ProtocolErrorCode } from '@modelcontextprotocol/server';
import ts from 'typescript';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/errors.ts';
import * as core from '../../src/core/index.ts';
import type { Tasks } from '../../src/engine/index.ts';
import { bearerTokens, createTaskHandler } from '../../src/server/index.ts';
import { listen } from '../../src/server/listen.ts';
import { encodeError } from '../../src/wire/errors.ts';
import { guarded } from '../server/auth/guarded.ts';
import { serve } from '../server/peer.ts';
import { scratchFolder, silent } from '../support/stores.ts';
import { HOLE, nodes, page, root, sources, table, textOf } from './sources.ts';

const errors = page('errors.md');
const parsed = sources();
const all = parsed.flatMap(({ file, tree }) => nodes(tree).map((node) => ({ file, node })));
const column = (rows: string[][], at: number): string[] => rows.map((row) => (row[at] ?? '').replaceAll('`', ''));
const sorted = <Value extends string | number>(values: Iterable<Value>): Value[] => [...new Set(values)].sort();

const numberIn = (node: ts.Node): number | undefined =>
  ts.isNumericLiteral(node) ? Number(node.text.replaceAll('_', '')) : undefined;

/** What a client reads of other servers is not what ours answers with. */
const requestorSide = /^src\/client\/|^src\/wire\/.*\/client\.ts$/;

/** Numbers that the sources of the receiver's side write down with a minus in front. */
const negatives = all.flatMap(({ file, node }) =>
  !requestorSide.test(file) && ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken
    ? [-(numberIn(node.operand) ?? 0)]
    : [],
);

/** Statuses the server answers with: every number like one that is not compared with another. */
const statuses = all.flatMap(({ file, node }) => {
  const number = file.startsWith('src/server/') ? numberIn(node) : undefined;
  if (number === undefined || number < 400 || number >= 600) return [];
  return ts.isBinaryExpression(node.parent) ? [] : [number];
});

describe('errors of tasks', () => {
  type Made = new (...args: string[]) => core.TaskError;
  const classes = Object.values<unknown>(core).filter(
    (value) => typeof value === 'function' && value.prototype instanceof core.TaskError,
  ) as Made[];

  it('are all in the page, with class and JSON-RPC code, and no others', () => {
    const made = classes.map((kind) => new kind('a', 'b'));
    const expected = made.map((error) => [error.code, error.name, String(encodeError(error).code)]);
    const rows = table(errors, 'Errors of tasks');
    const told = rows.map((_, at) => [0, 1, 2].map((n) => column(rows, n)[at] as string));
    expect(told.sort()).toEqual(expected.sort());
  });

  it('have a class for every code', () => {
    const union = all.find(({ node }) => ts.isTypeAliasDeclaration(node) && node.name.text === 'TaskErrorCode');
    const codes = nodes(union!.node)
      .filter(ts.isStringLiteral)
      .map((node) => node.text);
    expect(sorted(codes)).toEqual(sorted(classes.map((kind) => new kind('a', 'b').code)));
  });

  it('can be imported, as every class of errors that some page names', () => {
    const pins = JSON.parse(readFileSync(join(root, 'test/pins/exports.json'), 'utf8')) as Record<
      string,
      { values: string[] }
    >;
    const exported = Object.values(pins).flatMap(({ values }) => values.filter((name) => name.endsWith('Error')));
    const named = ['errors.md', 'guide.md', 'recovery.md', 'limits.md', 'operating.md']
      .flatMap((name) => [...page(name).matchAll(/`([A-Z]\w+Error)`/g)].map(([, found]) => found as string))
      .filter((name) => !['TypeError', 'RangeError', 'Error', 'ProtocolError'].includes(name));
    expect(sorted(named)).toEqual(sorted(exported));
  });
});

/** Requests that are refused, each with the status and the code it is there for. */
const refused: [status: number, code: number | undefined, (tools: Refusing) => Promise<Response>][] = [
  [400, -32700, ({ post }) => post('{')],
  [400, -32600, ({ post }) => post('[]')],
  [404, -32601, ({ send }) => send('tasks/nonsense', {})],
  [200, -32602, ({ send }) => send('tasks/get', { taskId: 'x' })],
  [429, -32603, ({ polling }) => polling()],
  [400, -32020, ({ send }) => send('tasks/get', { taskId: 'x' }, { 'mcp-method': 'tasks/cancel' })],
  [400, -32021, ({ send }) => send('tasks/get', { taskId: 'x' }, {}, {})],
  [400, -32022, ({ post }) => post(hello('2099-01-01'), { 'mcp-protocol-version': '2099-01-01' })],
  [403, -32000, ({ post }) => post('{}', { origin: 'https://evil.example' })],
  [405, -32000, ({ get }) => get()],
  [406, -32000, ({ post }) => post(ping, { accept: 'text/html' })],
  [413, -32000, ({ post }) => post(' '.repeat(5_000))],
  [415, -32000, ({ post }) => post('{}', { 'content-type': 'text/plain' })],
  [404, -32001, ({ post }) => post(ping, { 'mcp-session-id': 'made up' })],
  [401, undefined, ({ token }) => token('nobody’s')],
  [403, undefined, ({ token }) => token('narrow')],
  [503, undefined, ({ token }) => token('unchecked')],
  [500, undefined, () => broken()],
  [408, undefined, () => slow()],
];

interface Refusing {
  post(body: string, headers?: Record<string, string>): Promise<Response>;
  get(): Promise<Response>;
  send(method: string, params: object, headers?: Record<string, string>, capabilities?: object): Promise<Response>;
  polling(): Promise<Response>;
  token(kind: 'nobody’s' | 'narrow' | 'unchecked'): Promise<Response>;
}

const TOKEN = '3f6a0c9d81b24e57a6c1d2e3f4a5b6c7';
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const everyPost = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function hello(version: string): string {
  const prefix = 'io.modelcontextprotocol/';
  const _meta = { [`${prefix}protocolVersion`]: version, [`${prefix}clientCapabilities`]: {} };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
}

const tools = (tasks: Tasks) => tasks.registerTool('slow', {}, () => new Promise(() => {}));

async function refusing(): Promise<Refusing> {
  const { server, peer } = serve(tools, {
    tasks: { maxPollsPerSecond: 1, maxWaitingPolls: 0 },
    server: { maxRequestBytes: 4_096 },
  });
  const { url } = await server.listen({ port: 0 });
  const post: Refusing['post'] = (body, headers = {}) =>
    fetch(url, { method: 'POST', body, headers: { ...everyPost, ...headers } });
  const send: Refusing['send'] = (method, params, headers = {}, capabilities) => {
    const message = peer.request(method, params as never, capabilities ? { capabilities: {} } : {});
    const name = (params as { taskId?: string }).taskId;
    const own = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) };
    return post(JSON.stringify(message), { ...own, ...headers });
  };
  await peer.send('tools/list', {});
  return {
    post,
    send,
    get: () => fetch(url, { headers: { accept: 'text/event-stream' } }),
    async polling() {
      for (let n = 0; n < 2; n += 1) await (await send('tasks/get', { taskId: 'x' })).text();
      return send('tasks/get', { taskId: 'x' });
    },
    async token(kind) {
      const folder = scratchFolder();
      onTestFinished(folder.remove);
      const file = join(folder.path, 'tokens.json');
      writeFileSync(file, JSON.stringify({ tokens: [{ token: TOKEN, subject: 'alice' }] }), { mode: 0o600 });
      const { attempt, peer } = await guarded(bearerTokens({ file, requiredScopes: ['tasks'] }));
      await peer.send('tools/list', {});
      if (kind === 'unchecked') rmSync(file);
      return attempt(`Bearer ${kind === 'nobody’s' ? 'someone' : TOKEN}`);
    },
  };
}

/** A server whose factory throws. */
async function broken(): Promise<Response> {
  const { tasks, peer } = serve(tools, { tasks: { logger: silent } });
  await peer.send('tools/list', {});
  const { fetch } = createTaskHandler(tasks, (): McpServer => {
    throw new Error('no database today');
  });
  return fetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers: everyPost, body: ping }));
}

/** What is answered to who sends half a request. */
async function slow(): Promise<Response> {
  const never = 600_000;
  const times = { headMs: 50, requestMs: never, idleMs: never, stalledMs: never };
  const { port, close } = await listen(async () => new Response(null), { port: 0, logger: silent }, times);
  onTestFinished(close);
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /mcp HTTP/1.1\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return new Response(null, { status: Number(/^HTTP\/1\.1 (\d+) /.exec(answer.toString())?.[1]) });
}

describe('codes and statuses', () => {
  it.each(refused)('%i with %s is what a server answers', async (status, code, provoke) => {
    const response = await provoke(await refusing());
    const body = (await response.text()).replace(/^[\s\S]*?data: /, '');
    const { error } = (body === '' ? {} : JSON.parse(body)) as { error?: { code: number } | string };
    expect({ status: response.status, code: typeof error === 'object' ? error.code : undefined }).toEqual({
      status,
      code: code ?? (status === 500 ? -32603 : undefined),
    });
  });

  it('of JSON-RPC are in the page if the sources have them, and only if a server answers with them', () => {
    const told = column(table(errors, 'JSON-RPC codes'), 0).map(Number);
    // Read off other servers, and told in other codes to who does not know them: no server of ours answers with one.
    const foreign = [-32_002, -32_003, -32_042];
    for (const code of foreign) expect(errors).toContain(`\`${code}\``);
    const written = negatives.filter((number) => number <= -32_000 && number > -33_000 && !foreign.includes(number));
    const answered = refused.flatMap(([, code]) => (code === undefined ? [] : [code]));
    expect(sorted(told)).toEqual(sorted(answered));
    expect(sorted(told)).toEqual(expect.arrayContaining(sorted(written)));
    expect(written.length).toBeGreaterThan(5);
  });

  it('of the SDK are in the page, but for those that it only understands, or that a tool has to choose', () => {
    const { ResourceNotFound, UrlElicitationRequired, ...answered } = ProtocolErrorCode;
    const codes = Object.values(answered).filter((value) => typeof value === 'number');
    const others: unknown[] = [ResourceNotFound, UrlElicitationRequired];
    const told = column(table(errors, 'JSON-RPC codes'), 0).map(Number);
    expect(told).toEqual(expect.arrayContaining(codes.filter((code) => !others.includes(code))));
  });

  it('of HTTP are in the page if the sources have them, and only if a server answers with them', () => {
    const told = column(table(errors, 'HTTP statuses'), 0).map(Number);
    const answered = refused.map(([status]) => status).filter((status) => status >= 400);
    expect(sorted(told)).toEqual(sorted(answered));
    expect(sorted(told)).toEqual(expect.arrayContaining(sorted(statuses)));
    expect(statuses.length).toBeGreaterThan(4);
  });

  it('of authentication are in the page if the sources have them, or the SDK gives them', () => {
    const used = all.flatMap(({ node }) =>
      ts.isPropertyAccessExpression(node) && node.expression.getText() === 'OAuthErrorCode' ? [node.name.text] : [],
    );
    const codes = sorted(used).map((name) => OAuthErrorCode[name as keyof typeof OAuthErrorCode] as string);
    const told = column(table(errors, 'Authentication'), 0);
    expect(sorted(told)).toEqual(sorted([...codes, OAuthErrorCode.InsufficientScope, OAuthErrorCode.ServerError]));
  });

  it('of the command line are in the page, each with its name', () => {
    const rows = table(errors, 'The command line');
    const told = Object.fromEntries(rows.map((_, at) => [column(rows, 1)[at], Number(column(rows, 0)[at])]));
    expect(told).toEqual(EXIT);
  });
});

describe('messages that the page quotes', () => {
  const texts = all.flatMap(({ node }) => textOf(node) ?? []);
  const quoted = [...errors.matchAll(/"([^"\n]+(?:\n[^"\n]+)?)"/g)].map(([, message]) =>
    (message as string).replace(/\n/g, ' '),
  );

  it.each(sorted(quoted))('are in the sources: %s', (message) => {
    const fragments = message.split(HOLE).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const pattern = new RegExp(`^${fragments.join('[\\s\\S]*')}`);
    expect(texts.some((candidate) => pattern.test(candidate) || candidate.includes(message))).toBe(true);
  });
});

it('every row says what to do next', () => {
  const rows = errors.split('\n').filter((line) => /^\| [`"-\d]/.test(line) && !line.startsWith('| ---'));
  const silentRows = rows.filter((row) =>
    row
      .split('|')
      .slice(1, -1)
      .some((cell) => cell.trim() === ''),
  );
  expect(silentRows.map((row) => row.slice(0, 12))).toEqual(['| 0 | `ok` |']);
  expect(rows.length).toBeGreaterThan(50);
});
