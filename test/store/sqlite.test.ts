import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  LOCAL_PRINCIPAL,
  StoreClosedError,
  StoreRefusedError,
  StoreUnavailableError,
  systemClock,
  systemRandom,
} from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { networkFileSystem } from '../../src/store/sqlite/open.ts';
import { aTask } from '../../src/testing/index.ts';
import { createAndClaim } from '../../src/testing/on-store.ts';
import { scratchFolder, silent } from '../support/stores.ts';

let folder: ReturnType<typeof scratchFolder>;
let file: string;
beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'tasks.db');
});
afterEach(() => folder.remove());

const open = (path = file) => sqliteStore(path).open({ clock: systemClock, random: systemRandom, logger: silent });
const refusal = async (path = file) => {
  const error = await open(path).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreRefusedError);
  return (error as Error).message;
};

describe('opening a SQLite store', () => {
  it('creates file and folder for this user only', async () => {
    const { store } = await open(join(folder.path, 'deep', 'er', 'tasks.db'));
    await store.create(aTask());
    for (const name of ['tasks.db', 'tasks.db-wal', 'tasks.db-shm']) {
      expect(statSync(join(folder.path, 'deep', 'er', name)).mode & 0o777, name).toBe(0o600);
    }
    expect(statSync(join(folder.path, 'deep', 'er')).mode & 0o777).toBe(0o700);
    await store.close();
  });

  it('flushes: WAL with synchronous FULL, and no busy handler that would block the event loop', async () => {
    const { store } = await open();
    const db = new Database(file);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    db.close();
    const source = readFileSync(new URL('../../src/store/sqlite/open.ts', import.meta.url), 'utf8');
    expect(source).toMatch(/pragma\('synchronous = FULL'\)/); // A connection's own setting; the crash test shows the effect.
    expect(source).toMatch(/timeout: 0/);
    await store.close();
  });

  it('opens again what it left, and keeps tasks', async () => {
    const first = await open();
    const { task } = await first.store.create(aTask());
    await first.store.close();
    const second = await open();
    expect(await second.store.get(task.taskId, LOCAL_PRINCIPAL)).toEqual(task);
    await second.store.close();
  });

  it('reads logs of releases that knew no streams, which read the beginning of every line of its own', async () => {
    const { store } = await open();
    const { lease } = await createAndClaim(store);
    const db = new Database(file);
    onTestFinished(() => void db.close());
    const before = '["info",1,"as it was"]\n["error",2,"\\u0000"]\n';
    db.prepare('insert into logs (task_id, start, body) values (?, 0, ?)').run(lease.taskId, before);
    db.prepare('update tasks set log_bytes = ? where id = ?').run(before.length, lease.taskId);
    const old = [
      { level: 'info', at: 1, text: 'as it was' },
      { level: 'error', at: 2, text: '\u0000' },
    ];
    const added = [
      { level: 'info', at: 3, text: 'out', stream: 'stdout' },
      { level: 'info', at: 4, text: 'logged' },
    ] as const;
    await store.appendLog(lease, added);
    expect((await store.readLog(lease.taskId, 0, 1_000))?.lines).toEqual([...old, ...added]);
    const bodies = db.prepare('select body from logs where task_id = ? and start > 0').pluck().all(lease.taskId);
    expect(bodies).toEqual(['["info",3,"out","stdout"]\n["info",4,"logged"]\n']);
    await store.close();
  });

  it('lets several processes and many openers start on one new file at once', async () => {
    const opened = await Promise.all(Array.from({ length: 6 }, () => open()));
    const { task } = await (opened[0] as Awaited<ReturnType<typeof open>>).store.create(aTask());
    for (const { store } of opened) {
      expect((await store.get(task.taskId, LOCAL_PRINCIPAL))?.taskId).toBe(task.taskId);
      await store.close();
    }
  });

  it('refuses what is no database, and leaves it alone', async () => {
    writeFileSync(file, 'dear diary, this is not a database at all. '.repeat(50));
    const before = readFileSync(file);
    expect(await refusal()).toMatch(/tasks\.db is not a SQLite database/);
    expect(readFileSync(file)).toEqual(before);
  });

  it("refuses another program's database", async () => {
    const db = new Database(file);
    db.exec('create table contacts (name text)');
    db.close();
    expect(await refusal()).toMatch(/database of another program/);
  });

  it('refuses a damaged database, saying what to do [C-037]', async () => {
    const { store } = await open();
    for (let n = 0; n < 50; n += 1) await store.create(aTask({ input: 'x'.repeat(3_000) }));
    await store.close();
    const bytes = readFileSync(file);
    bytes.fill(0x5a, 100, 4_096); // The first page holds the schema.
    writeFileSync(file, bytes);
    expect(await refusal()).toMatch(/damaged|not a SQLite database/);
  });

  it('refuses the schema of a newer release', async () => {
    const { store } = await open();
    await store.close();
    const db = new Database(file);
    db.exec("update meta set value = '99' where key in ('schema', 'min_writer')");
    db.close();
    expect(await refusal()).toMatch(/newer release of longcall \(schema 99.*update longcall/);
  });

  it('lives beside a newer release that promises to be read and written by this one', async () => {
    const { store } = await open();
    await store.close();
    const db = new Database(file);
    db.exec("update meta set value = '3' where key = 'schema'");
    db.close();
    const again = await open();
    await again.store.create(aTask());
    await again.store.close();
  });

  it('refuses a folder given as a file, and a place it may not write', async () => {
    mkdirSync(file);
    expect(await refusal()).toMatch(/is a folder|cannot be written/);
    expect(await refusal('/sys/longcall/tasks.db')).toMatch(/cannot be (written|opened)/);
  });

  it.skipIf(process.getuid?.() === 0)('refuses a read-only folder', async () => {
    chmodSync(folder.path, 0o500);
    expect(await refusal()).toMatch(/cannot be written; check the permissions/);
    chmodSync(folder.path, 0o700);
  });

  it('knows network file systems by their numbers', () => {
    expect(networkFileSystem(0x6969)).toBe('NFS');
    expect(networkFileSystem(-11317950)).toBe('CIFS'); // As a signed 32-bit number, which some platforms report.
    expect(networkFileSystem(0xef53)).toBeUndefined(); // ext4
  });

  it.each([
    ['', /path must be/],
    [undefined, /path must be/],
    ['  ', /path must be/],
  ])('refuses %j as a path', (path, message) => {
    expect(() => sqliteStore(path as string)).toThrow(message);
  });

  it('says so when it is used after close', async () => {
    const { store } = await open();
    await store.close();
    await expect(store.create(aTask())).rejects.toThrow(StoreClosedError);
    await expect(store.get('x', LOCAL_PRINCIPAL)).rejects.toThrow(StoreClosedError);
    await store.close();
  });
});

describe('writing', () => {
  it('can be closed while writers go on: what was queued is written, the rest is refused', async () => {
    const { store } = await open();
    const refused: unknown[] = [];
    const writers = Array.from({ length: 16 }, async () => {
      for (;;) await store.create(aTask());
    }).map((writer) => writer.catch((error: unknown) => refused.push(error)));
    await store.create(aTask());
    await store.close();
    await Promise.all(writers);
    expect(refused).toHaveLength(16);
    for (const error of refused) expect(error).toBeInstanceOf(StoreClosedError);
  });

  it('keeps every acknowledged create when the process is killed in mid-write', { timeout: 60_000 }, async () => {
    for (let round = 0; round < 5; round += 1) {
      const writer = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'writer.ts'), file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const acknowledged: string[] = [];
      const enough = 200 + round * 137;
      for await (const line of createInterface({ input: writer.stdout })) {
        acknowledged.push(line);
        if (acknowledged.length === enough) writer.kill('SIGKILL'); // Lines still in the pipe were acknowledged too.
      }
      if (writer.exitCode === null && writer.signalCode === null) await once(writer, 'exit');
      const { store } = await open();
      for (const taskId of acknowledged) expect(await store.get(taskId, LOCAL_PRINCIPAL), taskId).toBeDefined();
      await store.close();
      expect(acknowledged.length).toBeGreaterThanOrEqual(enough);
    }
  });

  it('waits for a lock that another process holds, without blocking the event loop [C-036]', async () => {
    const { store } = await open();
    const other = new Database(file);
    other.exec('begin immediate');
    const write = store.create(aTask());
    let turns = 0;
    const before = performance.now();
    while (performance.now() - before < 50) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    expect(turns).toBeGreaterThan(50); // Blocked, the loop would not have come round.
    other.exec('commit');
    other.close();
    expect((await write).outcome).toBe('created');
    await store.close();
  });

  it('lets one failing command fail alone, though it shares a commit with others', async () => {
    const { store } = await open();
    const taken = aTask();
    await store.create(taken);
    const results = await Promise.allSettled([store.create(aTask()), store.create(taken), store.create(aTask())]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await store.close();
  });

  it.skipIf(!existsSync('/proc/mounts') || process.getuid?.() !== 0)(
    'answers a full disk with an error, loses nothing acknowledged, and goes on when there is space [C-033]',
    async ({ skip }) => {
      const mount = join(folder.path, 'small');
      mkdirSync(mount);
      const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', mount]);
      skip(mounted !== 0, 'mounting a small tmpfs is not permitted here');
      try {
        const { store } = await open(join(mount, 'tasks.db'));
        const kept: string[] = [];
        let failure: unknown;
        for (let n = 0; n < 200 && failure === undefined; n += 1) {
          const task = aTask({ input: 'x'.repeat(40_000) });
          try {
            await store.create(task);
            kept.push(task.taskId);
          } catch (error) {
            failure = error;
            expect(await store.get(task.taskId, LOCAL_PRINCIPAL)).toBeUndefined();
          }
        }
        expect(failure).toBeInstanceOf(StoreUnavailableError);
        expect((failure as Error).message).toMatch(/disk is full/);
        for (const taskId of kept) expect(await store.get(taskId, LOCAL_PRINCIPAL)).toBeDefined();
        expect(await run('mount', ['-o', 'remount,size=16m', mount])).toBe(0);
        expect((await store.create(aTask())).outcome).toBe('created');
        await store.close();
      } finally {
        await run('umount', [mount]);
      }
    },
  );
});

async function run(command: string, args: string[]): Promise<number | null> {
  const child = spawn(command, args, { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}
