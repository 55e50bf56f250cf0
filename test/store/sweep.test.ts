import type Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, systemRandom, type TaskId, type TerminalState } from '../../src/core/index.ts';
import type { TaskStore } from '../../src/store/index.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { openOn } from '../../src/store/sqlite/sqlite-task-store.ts';
import { aTask, ManualClock } from '../../src/testing/index.ts';
import { scratchFolder, silent } from '../support/stores.ts';

const MIB = 1024 * 1024;
const DONE: TerminalState = { status: 'completed', result: { content: [] } };
const EXPIRED: TerminalState = { status: 'failed', error: { code: -32603, message: 'expired' } };
const HOUR = 3_600_000;

/** What one transaction deleted. */
interface Transaction {
  logBytes: number;
  tasks: number;
}

let folder: ReturnType<typeof scratchFolder>;
let clock: ManualClock;
let store: TaskStore;
let transactions: Transaction[];
beforeEach(async () => {
  folder = scratchFolder();
  clock = new ManualClock();
  transactions = [];
  const path = `${folder.path}/tasks.db`;
  const db = await openDatabase(path, silent);
  record(db);
  ({ store } = openOn(db, path, { clock, random: systemRandom, logger: silent }));
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

/** Notes what each transaction of this connection deletes. */
function record(db: Database.Database): void {
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql === 'begin immediate') {
      after(statement, 'run', () => transactions.push({ logBytes: 0, tasks: 0 }));
    } else if (sql.startsWith('delete from "logs"')) {
      after(statement, 'all', (rows) => {
        for (const [bytes] of rows as number[][]) current().logBytes += bytes as number;
      });
    } else if (sql.startsWith('delete from "tasks"')) {
      after(statement, 'run', (result) => {
        current().tasks += (result as Database.RunResult).changes;
      });
    }
    return statement;
  }) as typeof db.prepare;
}

const current = (): Transaction => transactions.at(-1) as Transaction;

function after(statement: Database.Statement, method: 'run' | 'all', note: (result: unknown) => void): void {
  const call = statement[method].bind(statement) as (...values: unknown[]) => unknown;
  statement[method] = ((...values: unknown[]) => {
    const result = call(...values);
    note(result);
    return result;
  }) as never;
}

/** A finished task with a log of so many MiB, which may be deleted after an hour. */
async function withLog(mib: number, lineBytes = 60_000): Promise<TaskId> {
  const created = await store.create(aTask({ ttlMs: HOUR }), { claim: { workerId: 'w', leaseMs: 1_000 } });
  const { lease } = created.claimed as NonNullable<typeof created.claimed>;
  const text = 'x'.repeat(lineBytes);
  const entries = Array.from({ length: Math.ceil(MIB / lineBytes) }, (_, at) => ({ level: 'info', text, at }) as const);
  for (let n = 0; n < mib; n += 1) await store.appendLog(lease, entries);
  await store.finish(lease, DONE);
  return lease.taskId;
}

/** Reads and writes for as long as `work` goes on; resolves with how often. */
async function meanwhile(work: Promise<unknown>): Promise<number> {
  let served = 0;
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  while (!over) {
    const { task } = await store.create(aTask());
    expect(await store.get(task.taskId, LOCAL_PRINCIPAL)).toBeDefined();
    served += 1;
  }
  await ended;
  return served;
}

const pieces = () => transactions.filter(({ logBytes }) => logBytes > 0);
const largest = () => Math.max(...transactions.map(({ logBytes }) => logBytes)) / MIB;

describe('sweeping', () => {
  it('deletes large logs in pieces, and serves others in between', async () => {
    for (let n = 0; n < 3; n += 1) await withLog(10);
    clock.advance(HOUR);
    transactions = [];
    const sweep = store.sweep(200, EXPIRED, 0);
    const served = await meanwhile(sweep);
    expect(await sweep).toEqual({ expired: [], deleted: 3 });
    expect(pieces().length).toBeGreaterThan(6);
    expect(largest()).toBeLessThan(6);
    expect(served).toBeGreaterThanOrEqual(pieces().length - 1);
    expect((await store.counts()).byRunState).toEqual({ ready: served, leased: 0, parked: 0, done: 0 });
  });

  it('counts short lines for more than their bytes', async () => {
    const created = await store.create(aTask({ ttlMs: HOUR }), { claim: { workerId: 'w', leaseMs: 1_000 } });
    const { lease } = created.claimed as NonNullable<typeof created.claimed>;
    const line = [{ level: 'info', text: 'x', at: 1 }] as const;
    await Promise.all(Array.from({ length: 10_000 }, () => store.appendLog(lease, line)));
    await store.finish(lease, DONE);
    clock.advance(HOUR);
    transactions = [];
    expect((await store.sweep(200, EXPIRED, 0)).deleted).toBe(1);
    expect(pieces().length).toBeGreaterThan(2);
  });

  it('gives large results transactions of their own', async () => {
    for (let n = 0; n < 4; n += 1) {
      const created = await store.create(aTask({ ttlMs: HOUR }), { claim: { workerId: 'w', leaseMs: 1_000 } });
      const { lease } = created.claimed as NonNullable<typeof created.claimed>;
      const content = [{ type: 'text', text: 'x'.repeat(5 * MIB) }];
      await store.finish(lease, { status: 'completed', result: { content } });
    }
    clock.advance(HOUR);
    transactions = [];
    expect((await store.sweep(200, EXPIRED, 0)).deleted).toBe(4);
    expect(transactions.filter(({ tasks }) => tasks > 0)).toHaveLength(4);
  });

  it('deletes many small tasks in few transactions, and no more than it may', async () => {
    for (let n = 0; n < 30; n += 1) await store.create(aTask({ ttlMs: HOUR }));
    clock.advance(HOUR);
    transactions = [];
    expect(await store.sweep(20, EXPIRED, 0)).toMatchObject({ expired: { length: 20 }, deleted: 0 });
    expect(await store.sweep(20, EXPIRED, 0)).toMatchObject({ expired: { length: 10 }, deleted: 20 });
    expect(await store.sweep(20, EXPIRED, 0)).toEqual({ expired: [], deleted: 10 });
    expect(await store.sweep(20, EXPIRED, 0)).toEqual({ expired: [], deleted: 0 });
    expect(transactions.length).toBeLessThan(8);
  });

  it('takes no lock where there is nothing to do', async () => {
    await store.create(aTask());
    transactions = [];
    await store.sweep(200, EXPIRED, 0);
    expect(transactions).toEqual([]);
  });

  it('shows nothing of a task that is half deleted', async () => {
    const taskId = await withLog(10);
    clock.advance(HOUR);
    const sweep = store.sweep(200, EXPIRED, 0);
    for (let looks = 0; pieces().length < 2; looks += 1) {
      expect(await store.get(taskId, LOCAL_PRINCIPAL)).toBeUndefined();
      await store.create(aTask());
      expect(looks).toBeLessThan(1_000);
    }
    expect(await store.payloads(taskId)).toMatchObject({ result: DONE.result }); // Whole for operators, too.
    await sweep;
    expect(await store.payloads(taskId)).toBeUndefined();
  });
});

it('removes a task with a large log in pieces, and serves others in between', async () => {
  const taskId = await withLog(12);
  transactions = [];
  const removal = store.remove(taskId);
  const served = await meanwhile(removal);
  expect(await removal).toBe(true);
  expect(pieces().length).toBeGreaterThan(2);
  expect(largest()).toBeLessThan(6);
  expect(served).toBeGreaterThanOrEqual(pieces().length - 1);
});
