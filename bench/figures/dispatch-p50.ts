import type { Bench, Figure } from '../figure.ts';
import { pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { median, quantile, series } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 100;
const TASKS = 300;

/** How long a task that one process created waits for a worker in another that has nothing else to do. */
export const dispatchP50: Figure = {
  name: 'dispatch-p50',
  unit: 'ms',
  aim: 1,
  better: 'lower',
  against:
    'nothing: from the commit in a process without slots to the first line of the handler in a worker process, one ' +
    'SQLite file, one task at a time, both by the monotonic clock of the machine, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const all = runs.flat();
    return {
      values: runs.map(median),
      detail: `p90 ${quantile(all, 0.9).toFixed(2)} ms, p99 ${quantile(all, 0.99).toFixed(2)} ms`,
    };
  },
};

async function once(bench: Bench): Promise<number[]> {
  const folder = bench.folder();
  const [front, worker] = await Promise.all([Member.start(folder, { slots: 0 }), Member.start(folder, {})]);
  try {
    const waits: number[] = [];
    const dispatch = async () => {
      const [{ at }, start] = await Promise.all([
        front.order({ do: 'create', tool: 'mark', count: 1, inFlight: 1 }),
        worker.nextStart(5_000),
      ]);
      waits.push(start.at - at);
      await pause(5 + Math.random() * 10); // The task is over by then, and nobody is in step with anybody.
    };
    for (const _ of turns(WARM_UP, 4_000)) await dispatch();
    waits.length = 0;
    for (const _ of turns(TASKS, 12_000)) await dispatch();
    return waits;
  } finally {
    await Promise.all([front.stop(), worker.stop()]);
  }
}
