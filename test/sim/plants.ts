import Database from 'better-sqlite3';
import type { NewTask, TaskId } from '../../src/core/index.ts';
import type { Lease, TaskStore } from '../../src/store/index.ts';
import type { StatementPlant } from './connections.ts';
import type { Mood } from './mood.ts';

/** A bug that a simulation must find: one guard of the code under test, taken out from outside. */
export interface Plant extends StatementPlant {
  name: string;
  /** The promises of which one must be seen broken. */
  breaks: readonly string[];
  /** Makes runs in which the bug has the best chances to show: less is found by chance, and less gets lost by it. */
  provoke?(mood: Mood): void;
  /** Wraps the store of every process. `path` is the file it is on. */
  store?(store: TaskStore, path: string): TaskStore;
}

export const plants: readonly Plant[] = [
  {
    name: 'writes of a worker are not fenced',
    breaks: ['P3'],
    // A worker has to stand still in the middle of a write while another takes its task over.
    provoke(mood) {
      mood.holdOdds = 0.4;
      mood.length = 160;
      mood.diligence = 1;
      mood.tasks = Math.max(mood.tasks, 3);
      for (const name of ['stall', 'freeze', 'thaw', 'start a worker']) mood.factors.set(name, 8);
    },
    store: (store, path) => {
      const db = new Database(path, { timeout: 0 });
      const current = (lease: Lease): Lease => {
        const row = db.prepare('select fence from tasks where id = ?').get(lease.taskId) as
          | { fence: number }
          | undefined;
        return { ...lease, fence: row?.fence ?? lease.fence };
      };
      return override(store, {
        finish: (lease, outcome) => store.finish(current(lease), outcome),
        recordStep: (lease, step) => store.recordStep(current(lease), step),
        report: (lease, report) => store.report(current(lease), report),
      });
    },
  },
  {
    name: 'a finished task can be finished again',
    breaks: ['P2'],
    store: (store, path) =>
      override(store, {
        async cancel(taskId, principal, reason) {
          const outcome = await store.cancel(taskId, principal, reason);
          return outcome === 'already_terminal' && overwrite(path, taskId, reason) ? 'cancelled' : outcome;
        },
      }),
  },
  {
    name: 'a create is answered before its commit',
    breaks: ['P1'],
    store: (store) =>
      override(store, {
        async create(task) {
          store.create(task).catch(() => {});
          return { task: asIfCreated(task), outcome: 'created' };
        },
      }),
  },
  {
    name: 'nothing is flushed',
    breaks: ['P1', 'P4', 'P10'],
    pragma: (text) => text.replace('synchronous = FULL', 'synchronous = NORMAL'),
  },
  {
    name: 'an answer counts twice',
    breaks: ['P10'],
    sql: replacing(/(^update "input_requests".*"request_key" in \(\?, \?\)) and "answered_at" is null/, '$1'),
  },
  {
    name: 'a lease is taken before it has run out',
    breaks: ['P3'],
    sql: replacing(/"lease_until" < \?/, '(? is not null)'),
    store: (store) =>
      override(store, {
        // Who is taken for dead is looked at once; who is not, again before the lease is taken.
        lostLeases: async (limit) => (await store.lostLeases(limit)).map((lost) => ({ ...lost, worker: 'dead' })),
      }),
  },
  {
    name: 'a lock proves nothing',
    breaks: ['P3'],
    exec: (text) => text.replace('begin exclusive', 'begin'),
  },
  {
    name: 'a task that somebody has is claimed',
    breaks: ['P3'],
    sql: replacing(
      /(^update "tasks" set .* where "id" = \? and )"run_state" = 'ready'( and "available_at")/,
      '$1true$2',
    ),
  },
  {
    name: 'parking spends an attempt',
    breaks: ['P4'],
    sql: replacing(/"attempt" = "attempt" - \?/, '"attempt" = "attempt" - 0 * ?'),
  },
  {
    name: 'a claim spends no attempt',
    breaks: ['P4'],
    sql: replacing(/"attempt" = "attempt" \+ 1/, '"attempt" = "attempt"'),
  },
  {
    name: 'a retry spends no attempt',
    breaks: ['P4'],
    store: (store) =>
      override(store, {
        release: (lease, how, activeMs) =>
          store.release(lease, how.to === 'retry' ? { to: 'ready', availableAt: how.availableAt } : how, activeMs),
      }),
  },
  {
    name: 'a worker that shuts down hands nothing over',
    breaks: ['P6'],
    store: (store) =>
      override(store, {
        release: async (lease, how, activeMs) =>
          how.to === 'ready' ? 'lost' : await store.release(lease, how, activeMs),
      }),
  },
  {
    name: 'a repeated create makes a second task',
    breaks: ['P8'],
    sql: replacing(/^(select "request_hash", .*"key" in \(\?, \?\))/, '$1 and 0'),
  },
  {
    name: 'anybody may look and touch',
    breaks: ['P9'],
    sql: replacing(/"tasks"\."principal" = \?/, '(? is not null)'),
  },
  {
    name: 'tenants are one',
    breaks: ['P9'],
    sql: replacing(/"tasks"\."tenant" = \?/, '(? is not null)'),
  },
  {
    name: 'a task taken from a dead worker is given to nobody',
    breaks: ['P5'],
    sql: replacing(/(^update "tasks" set )"run_state" = 'ready'(.* min\()/, `$1"run_state" = 'parked'$2`),
  },
  {
    name: 'a step is acknowledged and not recorded',
    breaks: ['P4'],
    store: (store) => override(store, { recordStep: async () => 'applied' }),
  },
  {
    name: 'an answer is acknowledged and not recorded',
    breaks: ['P10'],
    store: (store) => override(store, { answer: async () => [] }),
  },
  {
    name: 'a task is deleted before its time',
    breaks: ['P1'],
    sql: replacing(/"delete_at" <= \?/, '"delete_at" <= ? + 8000'),
  },
  {
    name: 'a task expires before its time',
    breaks: ['P11'],
    sql: replacing(/(^select "id" from "tasks" where .*)"expires_at" <= \?/, '$1"expires_at" <= ? + 5000'),
  },
  {
    name: 'a result is not kept',
    breaks: ['P11'],
    store: (store) =>
      override(store, { create: (task, options) => store.create({ ...task, keepResultMs: 1 }, options) }),
  },
  {
    name: 'a task is shown after its end',
    breaks: ['P11'],
    sql: replacing(/"tasks"\."delete_at" > \?/, '(? is not null)'),
  },
  {
    name: 'a deleted task leaves its answers behind',
    breaks: ['P11'],
    sql: replacing(
      /^delete from "input_requests" where "task_id" = \?/,
      'delete from "input_requests" where "task_id" = ? and 0',
    ),
  },
];

function replacing(pattern: RegExp, replacement: string): (text: string) => string {
  return (text) => text.replace(pattern, replacement);
}

function override(store: TaskStore, changes: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(name in changes ? changes : target, name) as unknown;
      return typeof value === 'function' ? value.bind(name in changes ? changes : target) : value;
    },
  });
}

/** What the row would become if nothing stood in the way. False when the database is busy. */
function overwrite(path: string, taskId: TaskId, reason: string | undefined): boolean {
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('begin immediate; drop trigger if exists tasks_terminal_is_final');
    const sql = "update tasks set status = 'cancelled', cancel_reason = ?, version = version + 1 where id = ?";
    db.prepare(sql).run(reason ?? null, taskId);
    db.exec('commit');
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

function asIfCreated(task: NewTask) {
  const { taskId, principal, method, name, ttlMs, keepResultMs, revision } = task;
  return {
    ...{ taskId, principal, method, name, ttlMs, keepResultMs, revision },
    started: false,
    state: { status: 'working' as const },
    createdAt: 0,
    updatedAt: 0,
    expiresAt: null,
    attempt: 0,
    version: 1,
  };
}
