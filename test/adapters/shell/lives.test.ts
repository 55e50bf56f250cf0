import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identify, isAlive, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import type { RunnerRecord } from '../../../src/adapters/shell/job-files.ts';
import {
  adapterIn,
  begin,
  contextOf,
  endOfJob,
  jobsFolder,
  lineOf,
  logOf,
  newKey,
  started,
  textOf,
} from './support.ts';

const FOREVER = 'setInterval(() => {}, 1000)';

/** Starts a program in a session of its own, whose starter is gone at once, and which does not heed SIGTERM. */
const DOUBLE_FORK = `
  const { spawn } = require('node:child_process');
  const stubborn = "process.on('SIGTERM', () => {}); console.log('stubborn ' + process.pid); ${FOREVER}";
  const middle = "require('node:child_process').spawn(process.execPath, ['-e', " + JSON.stringify(stubborn) + "], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }).unref()";
  spawn(process.execPath, ['-e', middle], { stdio: ['ignore', 'inherit', 'ignore'] });`;

const runnerOf = (folder: string, key: string): RunnerRecord =>
  JSON.parse(readFileSync(join(folder, key, 'runner.json'), 'utf8')) as RunnerRecord;

function pidIn(lines: readonly { text: string }[], word: string): number {
  return Number(lines.flatMap(({ text }) => new RegExp(`^${word} (\\d+)$`).exec(text)?.[1] ?? [])[0]);
}

describe.skipIf(process.platform !== 'linux')('a command and those who watch over it', () => {
  it('goes on when its server is killed, and is found again with its exit code and its output', async () => {
    const folder = jobsFolder();
    const key = newKey(folder);
    const server = `
      const { shellTool } = await import('./dist/adapters/index.js');
      const command = () => ({ file: process.execPath, args: ['-e', "process.on('SIGUSR2', () => { console.log('last'); process.exit(7) }); console.log('first'); ${FOREVER}"], env: {} });
      const adapter = shellTool({ folder: ${JSON.stringify(folder)}, command });
      await adapter.start({}, { idempotencyKey: ${JSON.stringify(key)}, taskId: 'tsk_1' });
      process.kill(process.pid, 'SIGKILL');`;
    const dead = spawn(process.execPath, ['--input-type=module', '-e', server], { stdio: 'inherit' });
    expect((await once(dead, 'exit'))[1]).toBe('SIGKILL');
    const adapter = adapterIn(folder);
    expect(await adapter.find?.({ sh: '' }, contextOf(key))).toBe(key);
    await lineOf(adapter, key, 'first');
    const { pid } = JSON.parse(readFileSync(join(folder, key, 'command.json'), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGUSR2');
    expect(await endOfJob(adapter, key)).toMatchObject({ result: { structuredContent: { exitCode: 7 } } });
    expect((await logOf(adapter, key)).map(({ text }) => text)).toEqual(['first', 'last']);
  });

  it('is started once, however often and by however many it is started', async () => {
    const folder = jobsFolder();
    const context = contextOf(newKey(folder));
    const work = { sh: 'echo started; sleep 0.2' };
    await Promise.all(Array.from({ length: 5 }, () => adapterIn(folder).start(work, context)));
    await adapterIn(folder).start(work, context);
    await endOfJob(adapterIn(folder), context.idempotencyKey);
    await adapterIn(folder).start(work, context);
    expect((await logOf(adapterIn(folder), context.idempotencyKey)).map(({ text }) => text)).toEqual(['started']);
  });

  it('ends with all that it started when it is cancelled, launchers and those that left it included [C-018] [C-102]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder, { limits: { graceMs: 200 } });
    const sh = `${process.execPath} -e ${quoted(DOUBLE_FORK)} & sh -c 'sleep 1000 & wait' & echo ready; wait; sleep 1000`;
    const { ref, context } = await begin(adapter, folder, { sh });
    await lineOf(adapter, ref, 'ready');
    let stubborn = Number.NaN;
    while (Number.isNaN(stubborn)) {
      const news = adapter.changed?.(ref, context);
      stubborn = pidIn(await logOf(adapter, ref), 'stubborn');
      await news;
    }
    expect(started(folder).length).toBeGreaterThanOrEqual(4);
    await adapter.cancel?.(ref, context);
    expect(await endOfJob(adapter, ref)).toEqual({ state: 'cancelled' });
    expect(started(folder)).toEqual([]);
    await adapter.cancel?.(ref, context); // And again, which does nothing.
  });

  it('tells of a process that it left running on purpose, and leaves it alone [C-102]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const daemon = `require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref()`;
    const { ref } = await begin(adapter, folder, { node: daemon });
    const end = await endOfJob(adapter, ref);
    const [left] = started(folder);
    expect(textOf(end)).toContain(`processes that it left running on purpose: ${left?.pid}`);
    expect(end).toMatchObject({ outcome: 'ok' });
  });

  it('takes what it left in its session with it when it ends', async () => {
    const folder = jobsFolder();
    const end = await endOfJob(
      adapterIn(folder),
      (await begin(adapterIn(folder), folder, { sh: 'sleep 1000 >/dev/null 2>&1 & exit 0' })).ref,
    );
    expect(end).toMatchObject({ outcome: 'ok' });
    expect(started(folder)).toEqual([]);
  });

  it('is lost when its runner is killed, and nothing is left of it', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder, { limits: { graceMs: 100 } });
    const { ref } = await begin(adapter, folder, {
      node: `process.on('SIGTERM', () => {}); console.log('here'); ${FOREVER}`,
    });
    await lineOf(adapter, ref, 'here');
    const { runner } = runnerOf(folder, ref);
    process.kill(runner.pid, 'SIGKILL');
    while (isAlive(runner as ProcessIdentity)) await new Promise(setImmediate);
    expect(await adapter.poll(ref, contextOf(ref))).toMatchObject({
      state: 'lost',
      message: expect.stringContaining('its runner was killed'),
    });
    expect(started(folder)).toEqual([]);
    expect((await logOf(adapter, ref)).map(({ text }) => text)).toEqual(['here']);
  });

  it('is lost when the machine was started anew, and nobody who has its number now is touched [C-103]', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const innocent = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    onTestFinished(() => void innocent.kill('SIGKILL'));
    const stranger = identify(innocent.pid as number) as ProcessIdentity;
    const { ref, context } = await begin(adapter, folder, { node: FOREVER });
    const before = runnerOf(folder, ref);
    // As if the runner and its command had had the number of the innocent, and ended long ago.
    const dead = { ...stranger, started: '1' };
    process.kill(before.runner.pid, 'SIGKILL');
    for (const { pid } of started(folder)) process.kill(pid, 'SIGKILL');
    writeFileSync(join(folder, ref, 'runner.json'), JSON.stringify({ ...before, runner: dead }));
    writeFileSync(join(folder, ref, 'command.json'), JSON.stringify(dead));
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'lost' });
    await adapter.cancel?.(ref, context);
    expect(isAlive(stranger)).toBe(true);
    // Of another boot of the machine all numbers are somebody else's, whenever they started.
    writeFileSync(
      join(folder, ref, 'runner.json'),
      JSON.stringify({ ...before, boot: 'another', runner: { ...stranger, boot: 'another' } }),
    );
    writeFileSync(join(folder, ref, 'command.json'), JSON.stringify({ ...stranger, boot: 'another' }));
    expect(await adapter.poll(ref, context)).toMatchObject({
      state: 'lost',
      message: expect.stringContaining('the machine was started anew'),
    });
    await adapter.cancel?.(ref, context);
    expect(isAlive(stranger)).toBe(true);
  });

  it('lives as long as its runner shows it, where that is in another container', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref, context } = await begin(adapter, folder, { node: FOREVER });
    const file = join(folder, ref, 'runner.json');
    const record = runnerOf(folder, ref);
    writeFileSync(file, JSON.stringify({ ...record, namespace: 'pid:[1]' }));
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'working' });
    await adapter.cancel?.(ref, context); // Nobody here can signal it: it sees for itself.
    expect(await endOfJob(adapter, ref)).toEqual({ state: 'cancelled' });
    writeFileSync(file, JSON.stringify({ ...record, namespace: 'pid:[1]' }));
    const old = new Date(Date.now() - 120_000);
    utimesSync(file, old, old);
    expect(await adapterIn(folder).find?.({ sh: '' }, context)).toBe(ref);
  });

  it.skipIf(process.getuid?.() !== 0)('goes on with a full disk, and its end is told', async ({ skip }) => {
    const folder = join(jobsFolder(), 'small');
    mkdirSync(folder);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status;
    skip(mounted !== 0, 'mounting a small tmpfs is not permitted here');
    onTestFinished(() => void spawnSync('umount', ['-l', folder]));
    const adapter = adapterIn(folder);
    const { ref } = await begin(adapter, folder, {
      node: `process.stdout.write('x'.repeat(99).concat('\\n').repeat(30_000)); process.exitCode = 5`,
    });
    const end = await endOfJob(adapter, ref);
    expect(end).toMatchObject({ result: { structuredContent: { exitCode: 5, stdoutBytes: 3_000_000 } } });
    const lines = (await logOf(adapter, ref)).length;
    expect(lines).toBeGreaterThan(100);
    expect(lines).toBeLessThan(10_000);
    expect(readFileSync(join(folder, ref, 'runner.err'), 'utf8')).toMatch(
      /^(longcall: output could not be written and is left out: .*ENOSPC.*\n)?/,
    );
  });

  it('ends when somebody takes its folder away: nobody could find it any more', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref } = await begin(adapter, folder, { node: FOREVER });
    const { runner } = runnerOf(folder, ref);
    rmSync(join(folder, ref), { recursive: true });
    while (isAlive(runner as ProcessIdentity)) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(started(folder)).toEqual([]);
  });

  it('never starts where it was cancelled before', async () => {
    const folder = jobsFolder();
    const context = contextOf(newKey(folder));
    const adapter = adapterIn(folder);
    await adapter.cancel?.(context.idempotencyKey, context);
    await expect(adapter.start({ sh: 'echo never' }, context)).rejects.toThrow('cancelled before it was started');
    expect(started(folder)).toEqual([]);
    await adapter.release?.(context.idempotencyKey, context);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves nothing behind once its end is on record', async () => {
    const folder = jobsFolder();
    const adapter = adapterIn(folder);
    const { ref, context } = await begin(adapter, folder, { sh: 'echo done' });
    await endOfJob(adapter, ref);
    await adapter.release?.(ref, context);
    expect(readdirSync(folder)).toEqual([]);
    await adapter.release?.(ref, context);
    expect(await adapter.poll(ref, context)).toMatchObject({ state: 'lost', effect: 'none' });
  });
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
