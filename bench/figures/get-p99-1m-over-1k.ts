import { join } from 'node:path';
import type { TaskStore } from 'longcall';
import type { Bench, Figure } from '../figure.ts';
import { copyTask } from '../support/copies.ts';
import { lifecycle, openStore, principal } from '../support/lifecycles.ts';
import { median, quantile, series, shuffled } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 7;
const WARM_UP = 5_000;
const GETS = 20_000;
const SIDES = { few: 1_000, many: 1_000_000 };

/** What a store full of kept tasks costs those who ask for one of them. */
export const getP99OfMany: Figure = {
  name: 'get-p99-1m-over-1k',
  unit: 'ratio',
  aim: 1.5,
  better: 'lower',
  against:
    '`get` of the store with 1,000 kept tasks instead of 1,000,000: finished ones with input, result, attempt and ' +
    'timeline, random ids, random ones asked for, p99',
  async measure(bench) {
    const few = await filled(bench, SIDES.few);
    const many = await filled(bench, SIDES.many);
    try {
      const runs = await series(RUNS, (run) => {
        bench.progress(`run ${run} of ${RUNS}`);
        return once(few, many);
      });
      const ms = (side: 'few' | 'many', share: number) =>
        (1_000 * median(runs.map((run) => quantile(run[side], share)))).toFixed(0);
      return {
        values: runs.map((run) => quantile(run.many, 0.99) / quantile(run.few, 0.99)),
        detail:
          `p99 ${ms('many', 0.99)} µs / ${ms('few', 0.99)} µs, p90 ${ms('many', 0.9)} µs / ${ms('few', 0.9)} µs, ` +
          `p50 ${ms('many', 0.5)} µs / ${ms('few', 0.5)} µs`,
      };
    } finally {
      await Promise.all([few.store.close(), many.store.close()]);
    }
  },
};

interface Side {
  store: TaskStore;
  ids: string[];
}

async function filled(bench: Bench, count: number): Promise<Side> {
  bench.progress(`filling a store with ${count} tasks`);
  const folder = bench.folder();
  const first = await openStore(folder);
  const template = await lifecycle(first);
  await first.close();
  const ids = copyTask(join(folder, 'tasks.db'), template, count - 1);
  return { store: await openStore(folder), ids };
}

async function once(few: Side, many: Side): Promise<{ few: number[]; many: number[] }> {
  const times = { few: [] as number[], many: [] as number[] };
  const sides = [
    { ...few, times: times.few },
    { ...many, times: times.many },
  ];
  const ask = async () => {
    for (const { store, ids, times } of shuffled(sides)) {
      const id = ids[Math.floor(Math.random() * ids.length)] as string;
      const startedAt = performance.now();
      const found = await store.get(id, principal);
      times.push(performance.now() - startedAt);
      if (found?.state.status !== 'completed') throw new Error('a task that was kept is not there');
    }
  };
  for (const _ of turns(WARM_UP, 5_000)) await ask();
  times.few.length = times.many.length = 0;
  for (const _ of turns(GETS, 5_000)) await ask();
  return times;
}
