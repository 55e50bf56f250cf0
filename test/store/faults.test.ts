import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { LOCAL_PRINCIPAL, StoreUnavailableError, systemRandom, type TerminalState } from '../../src/core/index.ts';
import type { ClaimedTask, TaskStore } from '../../src/store/index.ts';
import { openDatabase } from '../../src/store/sqlite/open.ts';
import { openOn } from '../../src/store/sqlite/sqlite-task-store.ts';
import { aTask, ManualClock } from '../../src/testing/index.ts';
import { silent } from '../support/stores.ts';

const DONE: TerminalState = { status: 'completed', result: { content: [] } };
const FAILED: TerminalState = { status: 'failed', error: { code: -32603, message: 'no' } };
const QUESTION = { kind: 'form', message: 'sure?', schema: { type: 'object', properties: {} } } as const;
const YES = { action: 'accept', content: {} } as const;

/** What fails, counted down by every statement that runs. */
interface Fault {
  in: number;
  code: string;
  ran: number;
}

/** The database with a statement that fails when it is its turn: before it did anything, as a full disk is noticed. */
function failing(db: Database.Database, fault: Fault): Database.Database {
  const strike = <Result>(run: () => Result): Result => {
    fault.ran += 1;
    fault.in -= 1;
    if (fault.in === 0) throw new Database.SqliteError(`planted ${fault.code}`, fault.code);
    return run();
  };
  return new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (name !== 'prepare') return typeof value === 'function' ? value.bind(target) : value;
      return (sql: string) => {
        const statement = target.prepare(sql);
        if (sql === 'rollback') return statement; // What undoes must work, or nothing can be promised.
        return {
          run: (...values: unknown[]) => strike(() => statement.run(...values)),
          get: (...values: unknown[]) => strike(() => statement.get(...values)),
          all: (...values: unknown[]) => strike(() => statement.all(...values)),
          pluck: () => statement.pluck(),
          reader: statement.reader,
          columns: () => statement.columns(),
          raw() {
            statement.raw();
            return this;
          },
        };
      };
    },
  });
}

interface Bench {
  store: TaskStore;
  clock: ManualClock;
  fault: Fault;
  /** Every row of every table. */
  dump(): string;
}

async function bench(): Promise<Bench> {
  const clock = new ManualClock();
  const fault: Fault = { in: 0, code: '', ran: 0 };
  const db = await openDatabase(':memory:', silent);
  const { store } = openOn(failing(db, fault), ':memory:', { clock, random: systemRandom, logger: silent });
  const tables = db
    .prepare("select name from sqlite_master where type = 'table' and name not like 'kysely%'")
    .pluck()
    .all() as string[];
  const dump = () => JSON.stringify(tables.map((table) => db.prepare(`select * from "${table}" order by 1, 2`).all()));
  return { store, clock, fault, dump };
}

const FIRST = 'tsk_first';
async function claimed({ store }: Bench): Promise<ClaimedTask> {
  const { claimed } = await store.create(aTask({ taskId: FIRST }), { claim: { workerId: 'w', leaseMs: 30_000 } });
  return claimed as ClaimedTask;
}

async function asked(bench: Bench): Promise<ClaimedTask> {
  const task = await claimed(bench);
  await bench.store.ask(task.lease, 'q', QUESTION, bench.clock.now() + 1_000);
  return task;
}

async function finished(bench: Bench): Promise<void> {
  const { lease } = await asked(bench);
  await bench.store.finish(lease, DONE);
}

/** Tables in which tasks have left something: all but the one in which the file speaks of itself. */
function tablesInUse({ dump }: Bench): number {
  return (JSON.parse(dump()) as unknown[][]).filter((rows) => rows.length > 0).length - 1;
}

const idempotency = { key: 'k', requestHash: 'h' };

/** Every command that writes: what has to be there before, and the call. */
const commands: Record<string, (bench: Bench) => Promise<() => Promise<unknown>>> = {
  create:
    async ({ store }) =>
    () =>
      store.create(aTask({ taskId: FIRST, prepared: { a: 1 } }), {
        idempotency,
        maxOpenTasks: 5,
        claim: { workerId: 'w', leaseMs: 1_000 },
      }),
  'create again': async ({ store }) => {
    await store.create(aTask({ taskId: FIRST }), { idempotency });
    return () => store.create(aTask({ taskId: 'tsk_second' }), { idempotency });
  },
  claim: async ({ store }) => {
    await store.create(aTask({ taskId: FIRST, prepared: 1 }));
    return () => store.claim([FIRST], { workerId: 'w', leaseMs: 1_000 });
  },
  renew: async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.renew([lease], 60_000);
  },
  'finish with a result': async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.finish(lease, DONE);
  },
  'finish with an error': async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.finish(lease, FAILED);
  },
  'release, parked': async (on) => {
    const { lease } = await asked(on);
    return () => on.store.release(lease, { to: 'parked' }, 5);
  },
  'release, for a retry': async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.release(lease, { to: 'retry', availableAt: on.clock.now() + 9, error: 'x' }, 5);
  },
  recordStep: async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.recordStep(lease, { key: 's#1', name: 's', ordinal: 1, seq: 0, body: '1' });
  },
  ask: async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.ask(lease, 'q', QUESTION, 5);
  },
  expireQuestion: async (on) => {
    const { lease } = await asked(on);
    on.clock.advance(1_000);
    return () => on.store.expireQuestion(lease, 'q');
  },
  answer: async (on) => {
    await asked(on);
    return () => on.store.answer(FIRST, LOCAL_PRINCIPAL, new Map([['q', YES]]));
  },
  report: async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.report(lease, { progress: { progress: 1 } });
  },
  note: async (on) => {
    const { lease } = await claimed(on);
    return () => on.store.note(lease, 'handler_changed', { how: 'x' });
  },
  withdrawQuestion: async (on) => {
    const { lease } = await asked(on);
    return () => on.store.withdrawQuestion(lease, 'q');
  },
  wake: async (on) => {
    const { lease } = await claimed(on);
    await on.store.release(lease, { to: 'parked', wakeAt: on.clock.now() + 60_000 }, 0);
    return () => on.store.wake(FIRST);
  },
  appendLog: async (on) => {
    const { lease } = await claimed(on);
    return () =>
      on.store.appendLog(lease, [
        { level: 'info', text: 'a', at: 1 },
        { level: 'info', text: 'b', at: 2 },
      ]);
  },
  'appendLog, dropping': async (on) => {
    const { lease } = await claimed(on);
    const entries = Array.from({ length: 50 }, (_, at) => ({ level: 'info', text: 'x'.repeat(100), at }) as const);
    await on.store.appendLog(lease, entries, 4_096);
    return () => on.store.appendLog(lease, entries, 4_096);
  },
  requeue: async (on) => {
    const { lease } = await claimed(on);
    await on.store.finish(lease, FAILED);
    return () => on.store.requeue(FIRST, 'tsk_second');
  },
  cancelAll: async (on) => {
    await claimed(on);
    await on.store.create(aTask({ taskId: 'tsk_second' }));
    return () => on.store.cancelAll([FIRST, 'tsk_second'], 'stop', 'operator');
  },
  cancel: async (on) => {
    await claimed(on);
    return () => on.store.cancel(FIRST, LOCAL_PRINCIPAL, 'stop');
  },
  cancelOrphan: async ({ store }) => {
    await store.create(aTask({ taskId: FIRST }), { idempotency });
    return () => store.cancelOrphan(FIRST, LOCAL_PRINCIPAL, 'orphan');
  },
  'recover, to run again': async (on) => {
    await claimed(on);
    on.clock.advance(30_001);
    const [lost] = await on.store.lostLeases(1);
    return () => on.store.recover(lost as never, { action: 'run_again' });
  },
  'recover, to fail': async (on) => {
    await claimed(on);
    on.clock.advance(30_001);
    const [lost] = await on.store.lostLeases(1);
    return () => on.store.recover(lost as never, { action: 'fail', outcome: FAILED });
  },
};

describe.each(Object.entries(commands))('%s', (_name, prepare) => {
  it.each(['SQLITE_FULL', 'SQLITE_IOERR_WRITE'])(
    'is whole or not at all when any of its statements fails: %s [C-026]',
    async (code) => {
      const good = await bench();
      const goodCall = await prepare(good);
      good.fault.ran = 0;
      await goodCall();
      const statements = good.fault.ran;
      expect(statements).toBeGreaterThan(1);
      const wanted = good.dump();
      for (let at = 1; at <= statements; at += 1) {
        const on = await bench();
        const call = await prepare(on);
        const before = on.dump();
        Object.assign(on.fault, { in: at, code });
        await expect(call(), `statement ${at} of ${statements}`).rejects.toBeInstanceOf(StoreUnavailableError);
        expect(on.dump(), `after statement ${at}`).toBe(before);
        await call(); // The next try works.
        expect(on.dump(), `repeated after statement ${at}`).toBe(wanted);
        await on.store.close();
      }
      await good.store.close();
    },
  );
});

it('ends and deletes what is past its time at the next sweep, wherever the first one broke off', async () => {
  for (let at = 1; ; at += 1) {
    const on = await bench();
    await finished(on);
    await on.store.create(aTask({ taskId: 'tsk_second' }));
    on.clock.advance(3_600_000);
    Object.assign(on.fault, { in: at, code: 'SQLITE_FULL' });
    const outcome = await on.store.sweep(10, FAILED, 60_000).catch(() => 'broke off');
    on.fault.in = 0;
    expect(await on.store.get(FIRST, LOCAL_PRINCIPAL), `after statement ${at}`).toBeUndefined();
    if (outcome === 'broke off') await on.store.sweep(10, FAILED, 60_000);
    expect(await on.store.inspect(FIRST), `after statement ${at}`).toBeUndefined();
    expect(await on.store.get('tsk_second', LOCAL_PRINCIPAL)).toMatchObject({ state: FAILED });
    on.clock.advance(60_000);
    await on.store.sweep(10, FAILED, 60_000);
    expect(tablesInUse(on), `after statement ${at}`).toBe(0);
    await on.store.close();
    if (outcome !== 'broke off') return;
  }
});

it('removes a task at the next try, wherever the first one broke off', async () => {
  for (let at = 1; ; at += 1) {
    const on = await bench();
    const { lease } = await asked(on);
    await on.store.appendLog(lease, [{ level: 'info', text: 'a', at: 1 }]);
    Object.assign(on.fault, { in: at, code: 'SQLITE_FULL' });
    const outcome = await on.store.remove(FIRST).catch(() => 'broke off');
    on.fault.in = 0;
    if (outcome === 'broke off') {
      const left = await on.store.get(FIRST, LOCAL_PRINCIPAL);
      expect(left === undefined || left.state.status === 'input_required', `after statement ${at}`).toBe(true);
      expect(await on.store.remove(FIRST)).toBe(true);
    }
    expect(tablesInUse(on)).toBe(0);
    await on.store.close();
    if (outcome === true) return;
  }
});

it('fails alone: what shares its commit goes through', async () => {
  const on = await bench();
  const { lease } = await claimed(on);
  const begin = on.fault.ran;
  expect(begin).toBeGreaterThan(0);
  Object.assign(on.fault, { in: 3, code: 'SQLITE_FULL' }); // Within the first command of the group.
  const results = await Promise.allSettled([
    on.store.finish(lease, DONE),
    on.store.create(aTask({ taskId: 'tsk_other' })),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']); // Each was tried again alone.
  expect((await on.store.get(FIRST, LOCAL_PRINCIPAL))?.state.status).toBe('completed');
  await on.store.close();
});
