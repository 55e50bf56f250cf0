import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, type Logger, systemClock, systemRandom, type TerminalState } from '../../src/core/index.ts';
import type { TaskStore } from '../../src/store/index.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { openOn } from '../../src/store/sqlite/sqlite-task-store.ts';
import { MAX_WAL_BYTES } from '../../src/store/sqlite/write-ahead-log.ts';
import { aTask, ManualClock } from '../../src/testing/index.ts';
import { scratchFolder, silent } from '../support/stores.ts';

const MIB = 1024 * 1024;
/** SQLite copies the log into the file after every 4 MB; a group of commits comes on top. */
const BOUND = 8 * MIB;
/** Processes that have the store open; the case that this is taken from had thirty. */
const READERS = Number(process.env.LONGCALL_READERS ?? 8);
const DONE: TerminalState = { status: 'completed', result: { content: [] } };
const EXPIRED: TerminalState = { status: 'failed', error: { code: -32603, message: 'expired' } };
const HOUR = 3_600_000;

interface Child {
  process: ChildProcess;
  lines: Interface;
  /** What it has said so far. */
  heard: string[];
}

let folder: ReturnType<typeof scratchFolder>;
let file: string;
let store: TaskStore;
let children: Child[];
let said: string[];
const logger: Logger = {
  ...silent,
  info: (_fields, message) => said.push(`info: ${message}`),
  warn: (_fields, message) => said.push(`warn: ${message}`),
};

beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'tasks.db');
  children = [];
  said = [];
});
afterEach(async () => {
  await Promise.all(children.map(end));
  await store.close();
  folder.remove();
});

async function open(clock: Clock, maxWalBytes = BOUND): Promise<void> {
  const db = await openDatabase(file, silent);
  ({ store } = openOn(db, file, { clock, random: systemRandom, logger }, { maxWalBytes }));
}

/** Starts a process and waits until it says `ready`. */
async function child(args: string[]): Promise<Child> {
  const process_ = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const made: Child = { process: process_, lines: createInterface({ input: process_.stdout }), heard: [] };
  made.lines.on('line', (line) => made.heard.push(line));
  children.push(made);
  await hears(made, 'ready');
  return made;
}

async function hears({ heard, lines }: Child, line: string): Promise<void> {
  while (!heard.includes(line)) await once(lines, 'line');
}

async function end({ process }: Child): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  process.kill('SIGKILL');
  await once(process, 'close');
}

const walBytes = () => statSync(`${file}-wal`).size;

/** Creates so many tasks, some at a time; the result is how large the log has been. */
async function write(count: number, inputBytes = 2_000): Promise<number> {
  let largest = 0;
  for (let left = count; left > 0; left -= 50) {
    const input = 'x'.repeat(inputBytes);
    await Promise.all(Array.from({ length: Math.min(left, 50) }, () => store.create(aTask({ input, ttlMs: HOUR }))));
    largest = Math.max(largest, walBytes());
  }
  return largest;
}

/** Another program, in the middle of a long look at the store. */
function snapshotReader(): Promise<Child> {
  const script = `
    import Database from 'better-sqlite3';
    const db = new Database(${JSON.stringify(file)}, { readonly: true });
    db.exec('begin');
    db.prepare('select count(*) from tasks').get();
    console.log('ready');
    process.stdin.resume();`;
  return child(['--input-type=module', '--eval', script]);
}

describe('the write-ahead log', () => {
  it(`stays within its bound while ${READERS} processes have the store open [C-034]`, {
    timeout: 120_000,
  }, async () => {
    await open(systemClock);
    const script = join(import.meta.dirname, 'idle-process.ts');
    await Promise.all(Array.from({ length: READERS }, () => child(['--import', 'tsx', script, file])));
    expect(await write(4_000)).toBeLessThan(BOUND);
    await Promise.all(children.map((reader) => hears(reader, 'looked')));
    expect(said).toEqual([]);
    await Promise.all(
      children.map(async ({ process }) => {
        process.stdin?.end();
        await once(process, 'close');
      }),
    );
  });

  it('is not held by a process that waits [C-034]', { timeout: 60_000 }, async () => {
    await open(systemClock);
    const script = join(import.meta.dirname, 'idle-process.ts');
    const idle = await child(['--import', 'tsx', script, file]);
    await write(100);
    const other = new Database(file, { timeout: 5_000 });
    expect(other.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
    other.close();
    expect(idle.process.exitCode).toBeNull();
  });

  it('grows with a warning while another program reads, and is cut back after [C-034]', async () => {
    const clock = new ManualClock();
    await open(clock);
    await write(10);
    for (const episode of [1, 2]) {
      const reader = await snapshotReader();
      said = [];
      while (walBytes() <= BOUND) await write(20, 50_000);
      expect(said, 'it may be about to finish').toEqual([]);
      for (let n = 0; n < 5; n += 1) {
        clock.advance(1_000);
        await write(1);
      }
      expect(said, `episode ${episode}`).toEqual([expect.stringMatching(/^warn: .*log grows beyond its bound/)]);
      const { lagBytes, walBytes: size } = await store.storage();
      expect(size).toBe(walBytes());
      expect(lagBytes).toBeGreaterThan(BOUND / 2);
      await end(reader);
      clock.advance(1_000);
      await store.sweep(10, EXPIRED, 0); // Nobody writes any more.
      expect(walBytes()).toBeLessThan(BOUND);
      expect(said.slice(1)).toEqual([expect.stringMatching(/^info: .*within its bound again/)]);
      expect((await store.storage()).lagBytes).toBe(0);
    }
  });

  it('is cut back after one large commit that nobody is in the way of', async () => {
    await open(systemClock);
    await write(20, 1_000_000);
    expect(walBytes()).toBeLessThan(BOUND);
    expect(said).toEqual([]);
    expect(MAX_WAL_BYTES).toBeLessThanOrEqual(64 * MIB);
  });

  it('stays within its bound under two readers that never end, and every write is answered [C-035]', async () => {
    await open(systemClock);
    await write(300);
    let stopped = false;
    const pages = [0, 0];
    const readers = [0, 1].map(async (reader) => {
      let cursor: string | undefined;
      while (!stopped) {
        const page = await store.list({ limit: 20, ...(cursor !== undefined && { cursor }) });
        if (reader === 1) for (const { taskId } of page.tasks) await store.payloads(taskId); // An export.
        cursor = page.nextCursor;
        pages[reader] = (pages[reader] ?? 0) + 1;
      }
    });
    let answered = 0;
    let largest = 0;
    let pagesBefore = 0;
    for (let n = 0; n < 1_000; n += 1) {
      await store.create(aTask({ input: 'x'.repeat(8_000) }));
      answered += 1;
      largest = Math.max(largest, walBytes());
      if (n === 900) pagesBefore = Math.min(...pages);
    }
    expect(Math.min(...pages), 'readers went on too').toBeGreaterThan(pagesBefore);
    stopped = true;
    await Promise.all(readers);
    expect(answered).toBe(1_000);
    expect(largest).toBeLessThan(BOUND);
    expect(said).toEqual([]);
  });
});

describe('the database file', () => {
  it('gives space back after much was deleted, and serves others in between', async () => {
    const clock = new ManualClock();
    await open(clock);
    for (let n = 0; n < 64; n += 1) {
      const { claimed } = await store.create(aTask({ input: 'x'.repeat(MIB), ttlMs: HOUR }), {
        claim: { workerId: 'w', leaseMs: 1_000 },
      });
      await store.finish((claimed as NonNullable<typeof claimed>).lease, DONE);
    }
    const before = await store.storage();
    expect(before.fileBytes).toBeGreaterThan(64 * MIB);
    expect(before.freeBytes).toBeLessThan(MIB);
    clock.advance(HOUR);
    let over = false;
    const sweeps = (async () => {
      for (let n = 0; n < 10; n += 1) await store.sweep(100, EXPIRED, 0);
      over = true;
    })();
    const sizes = new Set<number>();
    while (!over) {
      await store.create(aTask());
      sizes.add((await store.storage()).fileBytes);
    }
    await sweeps;
    expect(sizes.size, 'bit by bit').toBeGreaterThan(10);
    const after = await store.storage();
    expect(after.freeBytes).toBeGreaterThan(8 * MIB); // Some stays for what comes next.
    expect(after.freeBytes).toBeLessThan(17 * MIB);
    expect(after.fileBytes).toBeLessThan(24 * MIB);
    expect(statSync(file).size).toBeLessThan(24 * MIB);
    const check = new Database(file);
    expect(check.pragma('integrity_check', { simple: true })).toBe('ok');
    check.close();
  });
});
