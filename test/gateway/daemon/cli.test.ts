import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  identify,
  isAlive,
  type ProcessIdentity,
  processTable,
} from '../../../src/adapters/processes/process-table.ts';
import type { Hello } from '../../../src/gateway/daemon/hello.ts';
import { readRecord } from '../../../src/gateway/daemon/record.ts';
import { version } from '../../../src/gateway/version.ts';
import { until } from '../../integration/processes.ts';
import { validated } from '../../server/peer.ts';
import { LinePeer } from '../../support/line-peer.ts';
import type { Json } from '../../support/messages.ts';
import { aPlace, frontHere, frontThere } from './support.ts';

const tsx = import.meta.resolve('tsx');
const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const everything = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

/** The command as it is typed. */
function longcall(...words: string[]) {
  const child = spawn(process.execPath, ['--import', tsx, main, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const code = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, said, code };
}

async function json(...words: string[]): Promise<Json> {
  const { said, code: ended } = longcall(...words, '--json');
  const code = await ended;
  expect(said.stderr).toBe('');
  return { code, ...(JSON.parse(said.stdout) as Json) };
}

/** The process and its children. */
function familyOfPid(pid: number): ProcessIdentity[] {
  const rows = [...processTable().values()].filter((row) => row.pid === pid || row.parent === pid);
  return rows.flatMap((row) => identify(row.pid) ?? []);
}

const hello: Hello = {
  spec: {
    target: { command: process.execPath, args: [everything, 'stdio'], env: {} },
    policy: { mode: 'direct' },
    tools: [],
  },
  folder: '/work',
};

describe('longcall daemon', () => {
  it('runs the gateway behind fronts, says so, and ends with its upstreams', async () => {
    const { folder } = aPlace();
    expect(await json('daemon', 'status', '--state', folder)).toEqual({ code: 3, running: false, folder });
    const front = frontThere({ folder, version: version(), env: process.env }, validated(), hello);
    const called = await front.peer.call('echo', { message: 'hello' }, {});
    expect(called).toMatchObject({ result: { content: [{ type: 'text', text: 'Echo: hello' }] } });
    const status = await json('daemon', 'status', '--state', folder);
    expect(status).toMatchObject({ code: 0, running: true, version: version(), folder });
    expect(status).toMatchObject({ fronts: [{ folder: '/work' }], gateway: { openTasks: 0 } });
    const family = familyOfPid(status['pid'] as number);
    expect(family.length).toBeGreaterThan(1); // And the server it has put tasks in front of.
    const text = longcall('daemon', 'status', '--state', folder);
    expect(await text.code).toBe(0);
    expect(text.said.stdout).toMatch(
      /^running {5}process \d+, version \S+, since \S+\nfolder .*\nopen tasks {2}0\nhosts {7}1\n/,
    );

    expect(await json('daemon', 'stop', '--state', folder)).toEqual({ code: 0, stopped: true });
    expect(family.filter(isAlive)).toEqual([]);
    expect(existsSync(status['socket'] as string)).toBe(false);
    expect(await json('daemon', 'stop', '--state', folder)).toEqual({ code: 0, stopped: false });
    front.child.stdin?.end();
    expect(await front.ended).toBe(0);
    expect(front.stderr()).toBe('');
    expect(await json('daemon', 'status', '--state', folder)).toMatchObject({ code: 3, running: false });
    const log = readFileSync(`${folder}/daemon.log`, 'utf8');
    expect(log).not.toContain('hello');
    expect(log).not.toContain(everything);
  }, 60_000);

  it('is what `longcall wrap` starts for a host, and goes on when that is over', async () => {
    const { folder } = aPlace();
    const words = ['wrap', '--state', folder, '--', process.execPath, everything, 'stdio'];
    const child = spawn(process.execPath, ['--import', tsx, main, ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const peer = new LinePeer({ input: child.stdout, output: child.stdin }, validated());
    await peer.send('tools/list', {}, {});
    const called = await peer.call('echo', { message: 'hello' }, {});
    expect(called).toMatchObject({ result: { content: [{ type: 'text', text: 'Echo: hello' }] } });
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
    const status = await json('daemon', 'status', '--state', folder);
    expect(status).toMatchObject({ running: true, fronts: [], gateway: { openTasks: 0 } });
    expect(await json('daemon', 'stop', '--now', '--state', folder)).toMatchObject({ killed: status['pid'] });
  }, 60_000);

  it('ends by itself with what it has started, once nobody needs it [C-106]', async () => {
    const { folder } = aPlace();
    const command = {
      file: process.execPath,
      args: ['--import', tsx, main, 'daemon', 'run', '--state', folder, '--idle', '500ms'],
    };
    const front = frontThere({ folder, version: version(), env: process.env, command }, validated(), hello);
    await front.peer.send('tools/list', {}, {});
    const family = familyOfPid(readRecord(folder)!.pid);
    expect(family.length).toBeGreaterThan(1);
    front.child.kill('SIGKILL');
    await until('all of it is gone', () => (family.some(isAlive) ? undefined : true));
    expect(readRecord(folder)).toBeUndefined();
    const log = readFileSync(`${folder}/daemon.log`, 'utf8').trimEnd().split('\n');
    expect(log.map((line) => JSON.parse(line) as Json).at(-1)).toMatchObject({ msg: 'the daemon has ended' });
  }, 60_000);

  it('prints and follows the log, whatever becomes of the file', async () => {
    const place = aPlace();
    const none = longcall('daemon', 'logs', '--state', place.folder);
    expect(await none.code).toBe(3);
    const front = frontHere(place.options(), validated());
    await front.peer.call('pid', {}, {});
    const following = longcall('daemon', 'logs', '-f', '--state', place.folder);
    await until('what was there', () => (following.said.stdout.includes('the daemon listens') ? true : undefined));
    front.hangUp();
    await until('what comes', () => (following.said.stdout.includes('a front is gone') ? true : undefined));
    rmSync(`${place.folder}/daemon.log.1`, { force: true });
    const { said, code } = longcall('daemon', 'logs', '--json', '--state', place.folder);
    expect(await code).toBe(0);
    const entries = said.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(entries.map(({ msg }) => msg)).toContain('a front is connected');
  }, 60_000);

  it('kills one that hangs, and nobody else', async () => {
    const place = aPlace();
    const front = frontHere(place.options(), validated());
    await front.peer.call('pid', {}, {});
    const { pid, process: daemon, socket } = place.record();
    process.kill(pid, 'SIGSTOP');
    front.hangUp();
    const { said, code } = longcall('daemon', 'stop', '--now', '--state', place.folder);
    expect(await code).toBe(0);
    expect(said.stdout).toBe(`killed process ${pid}\n`);
    expect(isAlive(daemon!)).toBe(false);
    expect(existsSync(socket)).toBe(false);
  }, 60_000);
});
