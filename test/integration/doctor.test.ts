import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished, vi } from 'vitest';
import { scratchFolder } from '../support/stores.ts';

// The built command, and the built daemon behind hosts of two kinds.
const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'dist/cli/main.js');
const upstream = join(root, 'test/gateway/fixtures/upstream.mjs');

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH };
    const child = execFile(process.execPath, [main, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

it('tells how the clients of a daemon are served, and why', async () => {
  const scratch = scratchFolder();
  const state = join(scratch.path, 'state');
  mkdirSync(state, { mode: 0o700 });
  onTestFinished(async () => {
    await run('daemon', 'stop', '--state', state);
    scratch.remove();
  });
  const host = async (name: string, mode: 'legacy' | 'auto', capabilities: object): Promise<void> => {
    const client = new Client({ name, version: '1.2.3' }, { capabilities, versionNegotiation: { mode } } as never);
    const args = [main, 'wrap', '--state', state, '--', process.execPath, upstream];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  };
  await host('claude-code', 'legacy', {});
  await host('a-new-host', 'auto', { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } });

  const { code, stdout, stderr } = await run('doctor', '--state', state, '--json', '--', process.execPath, upstream);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const report = JSON.parse(stdout) as { clients: unknown[]; daemon: object; findings: { code: string }[] };
  expect(report.daemon).toMatchObject({ running: true, hosts: 2, openTasks: 0, upstreams: [expect.any(String)] });
  expect(report.clients).toMatchObject([
    {
      name: 'claude-code',
      version: '1.2.3',
      protocol: '2025-11-25',
      tasks: 'none',
      asks: [],
      mode: 'detach',
      set: expect.stringContaining('MCP_PROTOCOL_NEGOTIATION=auto'),
    },
    { name: 'a-new-host', protocol: '2026-07-28', tasks: 'extension', mode: 'native 2026-07-28' },
  ]);
  expect(report.findings.map((one) => one.code)).toEqual(expect.arrayContaining(['daemon-runs', 'upstream-served']));

  const people = await run('doctor', '--state', state);
  expect(people).toMatchObject({ code: 0, stderr: '' });
  expect(people.stdout).toContain('clients seen\n  claude-code 1.2.3, 2025-11-25, gives up on a call after 300 s');
  expect((await run('doctor', '--state', state, '--strict')).code).toBe(1);
  expect((await run('daemon', 'stop', '--state', state)).stdout).toBe('stopped\n');
  expect((await run('doctor', '--state', state, '--strict')).code).toBe(0);
}, 90_000);

it.runIf(process.platform === 'linux')(
  'ends what it has started when it is told to end',
  async () => {
    const mark = randomUUID();
    const args = [
      'doctor',
      '--timeout',
      '1m',
      '--',
      process.execPath,
      upstream,
      '--silent',
      '--ignore-stdin-end',
      '--child',
    ];
    const scratch = scratchFolder();
    onTestFinished(scratch.remove);
    const env = { PATH: process.env.PATH, LONGCALL_RUNTIME_DIR: join(scratch.path, 's'), MARK: mark };
    const child = spawn(process.execPath, [main, ...args], { env, stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'close');
    await vi.waitFor(() => expect(marked(mark)).toHaveLength(3), { timeout: 30_000, interval: 20 });
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    expect(marked(mark)).toEqual([]);
  },
  60_000,
);

function marked(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
    } catch {
      return false; // Gone, or not ours to look at.
    }
  });
}
