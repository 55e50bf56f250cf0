import { copyFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Bench, Figure } from '../figure.ts';
import { copyTask } from '../support/copies.ts';
import { HttpClient, modern } from '../support/http-client.ts';
import { lifecycle, openStore, parked } from '../support/lifecycles.ts';
import { machineTime, pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { median, quantile, series, shuffled } from '../support/statistics.ts';

const RUNS = 5;
const KEPT = 10_000;
/** Half of them are open and past their TTL, half are over and past their keeping. */
const EXPIRED = 100_000;
const WARM_UP_MS = 1_000;
const MEASURE_MS = 12_000;
const EVERY_MS = 20;
const LONG_AGO_MS = 3_600_000;
const LOOK_EVERY = 10;
/** Whose tasks those are that are asked for: callers over loopback are one principal. */
const LOCAL = 'local';

/** What those who poll notice of a hundred thousand expired tasks that are being swept. */
export const getP99WhileSweeping: Figure = {
  name: 'get-p99-sweep-over-calm',
  unit: 'ratio',
  aim: 3,
  better: 'lower',
  against:
    'the same server with as many tasks of which none has expired; `tasks/get` of kept tasks, Streamable HTTP ' +
    '2026-07-28, every 20 ms on both, default settings, while 100,000 expired tasks are swept, p99',
  async measure(bench) {
    const stores = { expired: await filled(bench, 'expired'), kept: await filled(bench, 'kept') };
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench, stores);
    });
    const ms = (side: 'sweep' | 'calm', share: number) =>
      median(runs.map((run) => quantile(run[side], share))).toFixed(2);
    return {
      values: runs.map((run) => quantile(run.sweep, 0.99) / quantile(run.calm, 0.99)),
      detail:
        `p99 ${ms('sweep', 0.99)} ms / ${ms('calm', 0.99)} ms, p50 ${ms('sweep', 0.5)} ms / ${ms('calm', 0.5)} ms, ` +
        `longest ${ms('sweep', 1)} ms / ${ms('calm', 1)} ms; ` +
        `${Math.round(median(runs.map(({ swept }) => swept)))} tasks swept per s`,
    };
  },
};

interface Once {
  sweep: number[];
  calm: number[];
  /** Tasks per second. */
  swept: number;
}

type Condition = 'expired' | 'kept';

/** A store file to begin a run with, and the tasks in it that are kept. */
interface Filled {
  file: string;
  ids: string[];
}

async function filled(bench: Bench, condition: Condition): Promise<Filled> {
  bench.progress(`filling a store with ${EXPIRED} ${condition} tasks`);
  const folder = bench.folder();
  const store = await openStore(folder);
  const [over, open] = [await lifecycle(store), await parked(store)];
  await store.close();
  const file = join(folder, 'tasks.db');
  const ids = copyTask(file, over, KEPT, { principal: `'${LOCAL}'` });
  // In the order in which they were created, as it is where tools have the same TTL.
  const longAgo = `${Date.now() - LONG_AGO_MS} + n`;
  const past = condition === 'expired';
  copyTask(file, over, EXPIRED / 2, past ? { expires_at: longAgo, delete_at: longAgo } : {});
  copyTask(file, open, EXPIRED / 2, past ? { expires_at: longAgo } : {});
  return { file, ids };
}

async function once(bench: Bench, stores: Record<Condition, Filled>): Promise<Once> {
  const [sweep, calm] = [await Served.start(bench, stores.expired), await Served.start(bench, stores.kept)];
  const left = new Left(sweep.file);
  try {
    await asked([sweep, calm], WARM_UP_MS, left);
    sweep.times.length = calm.times.length = 0;
    const [since, before] = [machineTime(), left.count()];
    await asked([sweep, calm], MEASURE_MS, left);
    const swept = (1_000 * (before - left.count())) / (machineTime() - since);
    return { sweep: sweep.times, calm: calm.times, swept };
  } finally {
    left.close();
    await Promise.all([sweep.stop(), calm.stop()]);
  }
}

/** Asks at fixed times, whether or not the last answer has come: what waits behind a sweep is to be seen. */
async function asked(sides: Served[], forMs: number, left: Left): Promise<void> {
  const until = performance.now() + forMs;
  const answers: Promise<void>[] = [];
  for (let at = performance.now(), n = 1; at < until; at += EVERY_MS, n += 1) {
    await pause(Math.max(0, at - performance.now()));
    if (n % LOOK_EVERY === 0 && !left.any()) break;
    for (const side of shuffled(sides)) answers.push(side.ask());
  }
  await Promise.all(answers);
}

/** A server on a copy of a store. */
class Served {
  readonly file: string;
  readonly times: number[] = [];
  readonly #ids: string[];
  readonly #member: Member;
  readonly #client: HttpClient;

  private constructor(file: string, ids: string[], member: Member) {
    this.file = file;
    this.#ids = ids;
    this.#member = member;
    this.#client = new HttpClient(member.url, { sockets: 4 });
  }

  static async start(bench: Bench, { file, ids }: Filled): Promise<Served> {
    const folder = bench.folder();
    const copy = join(folder, 'tasks.db');
    copyFileSync(file, copy);
    return new Served(copy, ids, await Member.start(folder, { serves: true }));
  }

  async ask(): Promise<void> {
    const taskId = this.#ids[Math.floor(Math.random() * this.#ids.length)] as string;
    const { ms } = await this.#client.send(modern('tasks/get', { taskId }, taskId), '"status":"completed"');
    this.times.push(ms);
  }

  async stop(): Promise<void> {
    this.#client.close();
    await this.#member.stop();
    rmSync(dirname(this.file), { recursive: true, force: true }); // A run leaves some hundred megabytes.
  }
}

/** What of a store's tasks is still to be swept. */
class Left {
  readonly #db: Database.Database;
  readonly #now = Date.now();

  constructor(file: string) {
    this.#db = new Database(file, { readonly: true });
  }

  any(): boolean {
    return this.#ask('select exists (select 1 from open) or exists (select 1 from over)') === 1;
  }

  count(): number {
    return this.#ask('select (select count(*) from open) + (select count(*) from over)');
  }

  close(): void {
    this.#db.close();
  }

  #ask(select: string): number {
    const sql =
      "with open as (select 1 from tasks where run_state <> 'done' and expires_at is not null and expires_at <= @now), " +
      `over as (select 1 from tasks where delete_at is not null and delete_at <= @now) ${select}`;
    return this.#db.prepare(sql).pluck().get({ now: this.#now }) as number;
  }
}
