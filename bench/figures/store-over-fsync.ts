import type { Bench, Figure } from '../figure.ts';
import { AppendedFile } from '../support/fsync.ts';
import { lifecycles, openStore } from '../support/lifecycles.ts';
import { median, series } from '../support/statistics.ts';
import { perSecond } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 2_000;
/** Both sides take turns within a run, in slices short enough that a busy disk or core meets both. */
const SLICES = 10;
const TASKS = 400;
const APPENDS = 300;

/** A whole task against one flush of the disk below it: group commit is what lets the first win. */
export const storeOverFsync: Figure = {
  name: 'store-over-fsync',
  unit: 'ratio',
  aim: 1,
  better: 'higher',
  against: 'a raw 4 kB append and fsync, per second, on the same disk; the store as in store-lifecycles',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const tasks = median(runs.map((run) => run.tasks));
    const flushes = median(runs.map((run) => run.flushes));
    return {
      values: runs.map((run) => run.tasks / run.flushes),
      detail: `${Math.round(tasks)} per s / ${Math.round(flushes)} per s`,
    };
  },
};

async function once(bench: Bench): Promise<{ tasks: number; flushes: number }> {
  const folder = bench.folder();
  const file = new AppendedFile(folder);
  await using store = await openStore(folder);
  try {
    await lifecycles(store, WARM_UP, 1_500);
    file.append(APPENDS, 500);
    const slices = await series(SLICES, async () => ({
      tasks: await lifecycles(store, TASKS, 300),
      flushes: file.append(APPENDS, 200),
    }));
    return {
      tasks: perSecond(slices.map(({ tasks }) => tasks)),
      flushes: perSecond(slices.map(({ flushes }) => flushes)),
    };
  } finally {
    file.close();
  }
}
