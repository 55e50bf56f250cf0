import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished } from 'vitest';
import { scratchFolder } from '../support/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const upstream = join(root, 'test/gateway/fixtures/upstream.mjs');
const TOKENS = ['0123456789abcdef0123456789abcdef', 'fedcba9876543210fedcba9876543210'] as const;

async function toolsOf(url: string, token: string): Promise<string[]> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
  );
  try {
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}

it('serves the upstreams of a file, lets in who is named, and follows the file', async () => {
  const folder = scratchFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'longcall.yaml');
  const write = (token: string, names: string[], more = ''): void => {
    writeFileSync(join(folder.path, 'token'), `${token}\n`, { mode: 0o600 });
    const command = JSON.stringify([process.execPath, upstream]);
    const upstreams = names.map((name) => `  ${name}: { command: ${command}, allow: [echo] }\n`).join('');
    const auth = `auth: { tokens: [{ name: me, token: "$`.concat('{file:token}" }] }\n');
    writeFileSync(file, `listen: 127.0.0.1:0\nstate: state\n${auth}${more}upstreams:\n${upstreams}`);
  };
  write(TOKENS[0], ['a']);
  const child = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'serve', file, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>;

  const { url, ...serving } = (await next()) as { url: string };
  expect(serving).toEqual({ event: 'serving', pid: child.pid, upstreams: ['a'], tools: [] });
  expect(await toolsOf(url, TOKENS[0])).toEqual(expect.arrayContaining(['echo']));
  await expect(toolsOf(url, TOKENS[1])).rejects.toThrow();

  write(TOKENS[0], ['a', 'b']);
  expect(await next()).toMatchObject({ event: 'reloaded', added: ['b'], removed: [], restart: [] });
  expect(await toolsOf(url, TOKENS[0])).toEqual(expect.arrayContaining(['a_echo', 'b_echo']));

  writeFileSync(file, 'upstreams: { a: { comand: x } }');
  expect(await next()).toMatchObject({ event: 'refused', problems: [{ line: 1 }, { field: 'upstreams.a.comand' }] });
  expect(await toolsOf(url, TOKENS[0])).toEqual(expect.arrayContaining(['b_echo']));

  write(TOKENS[1], ['a'], 'limits: { slots: 2 }\n');
  expect(await next()).toMatchObject({ event: 'reloaded', changed: ['a'], removed: ['b'], restart: ['limits'] });
  await expect(toolsOf(url, TOKENS[0])).rejects.toThrow();
  expect(await toolsOf(url, TOKENS[1])).toEqual(expect.arrayContaining(['echo']));

  child.kill('SIGHUP');
  expect(await next()).toMatchObject({ event: 'reloaded', added: [], removed: [], changed: [], kept: ['a'] });

  write(TOKENS[1], ['a'], 'limits: { slots: 2 }\nshell: { build: { command: make } }\n');
  // Beside something else, the tools of an upstream get its name before theirs.
  expect(await next()).toMatchObject({ event: 'reloaded', changed: ['a'], tools: { added: ['build'], removed: [] } });
  expect(await toolsOf(url, TOKENS[1])).toEqual(expect.arrayContaining(['a_echo', 'build']));

  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await next()).toEqual({ event: 'stopped' });
  expect(await exited).toEqual([null, 'SIGTERM']);
});
