import type { Figure } from '../figure.ts';
import { lifecycles, openStore } from '../support/lifecycles.ts';
import { series } from '../support/statistics.ts';

const RUNS = 7;
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
      await lifecycles(store, WARM_UP);
      return await lifecycles(store, TASKS); // Before the store closes.
    });
    return { values };
  },
};
