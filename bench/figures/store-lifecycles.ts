import type { Figure } from '../figure.ts';
import { lifecycles, openStore } from '../support/lifecycles.ts';
import { series } from '../support/statistics.ts';
import { perSecond } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 2_000;
const TASKS = 6_000;

/** How many tasks one process can carry through its store, every acknowledged write flushed. */
export const storeLifecycles: Figure = {
  name: 'store-lifecycles',
  unit: 'per s',
  aim: 9_000,
  better: 'higher',
  against: 'nothing: create, claim, complete, read through TaskStore, synchronous=FULL, 32 in flight, one process',
  async measure(bench) {
    const values = await series(RUNS, async (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      await using store = await openStore(bench.folder());
      await lifecycles(store, WARM_UP, 2_000);
      return perSecond([await lifecycles(store, TASKS, 4_000)]);
    });
    return { values };
  },
};
