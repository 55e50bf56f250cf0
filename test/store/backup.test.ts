import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, systemClock, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { aTask } from '../../src/testing/index.ts';
import { scratchFolder, silent } from '../support/stores.ts';

// What docs/operating.md tells people to do, while another process writes as fast as it can.
let folder: ReturnType<typeof scratchFolder>;
let file: string;
let writer: ChildProcess;
let acknowledged: string[];
let lines: Interface;
beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'tasks.db');
  acknowledged = [];
  writer = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'writer.ts'), file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  lines = createInterface({ input: writer.stdout as NodeJS.ReadableStream });
  lines.on('line', (taskId) => acknowledged.push(taskId));
});
afterEach(async () => {
  await stop();
  folder.remove();
});

async function stop(): Promise<void> {
  if (writer.exitCode !== null || writer.signalCode !== null) return;
  writer.kill('SIGKILL');
  await once(writer, 'close');
}

/** Resolves when so many creates were acknowledged. */
async function written(count: number): Promise<void> {
  while (acknowledged.length < count) await once(lines, 'line');
}

const backups: [string, (db: Database.Database, copy: string) => Promise<unknown>][] = [
  ['VACUUM INTO', async (db, copy) => db.prepare('vacuum into ?').run(copy)],
  ['the backup API', (db, copy) => db.backup(copy)],
];

describe('a backup taken while the store is in use', { timeout: 60_000 }, () => {
  it.each(backups)('opens, and has every task that was acknowledged before: %s', async (_name, backUp) => {
    const copy = join(folder.path, 'copy.db');
    await written(500);
    const before = [...acknowledged];
    const db = new Database(file, { readonly: true });
    await backUp(db, copy);
    db.close();
    await written(before.length + 1); // It was not held up for good.
    await stop();
    const check = new Database(copy, { readonly: true });
    expect(check.pragma('integrity_check', { simple: true })).toBe('ok');
    check.close();
    const { store } = await sqliteStore(copy).open({ clock: systemClock, random: systemRandom, logger: silent });
    for (const taskId of before) expect(await store.get(taskId, LOCAL_PRINCIPAL), taskId).toBeDefined();
    expect((await store.counts()).byRunState.ready).toBeGreaterThanOrEqual(before.length);
    const [claimed] = await store.claim([before[0] ?? ''], { workerId: 'w', leaseMs: 1_000 });
    expect(claimed?.input).toEqual({ file: 'a.mp4' });
    expect((await store.create(aTask())).outcome).toBe('created');
    await store.close();
  });
});
