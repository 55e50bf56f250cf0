import type { Bench, Figure } from '../figure.ts';
import { pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { median, quantile, series } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const CANCELS = 100;

/** How long a handler in another process goes on after its task was cancelled. */
export const cancelP50: Figure = {
  name: 'cancel-p50',
  unit: 'ms',
  aim: 100,
  better: 'lower',
  against:
    'nothing: from the call to cancel in a process without slots to the signal of the handler in a worker process, one ' +
    'SQLite file, default settings, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const all = runs.flat();
    return {
      values: runs.map(median),
      detail: `p99 ${quantile(all, 0.99).toFixed(2)} ms, longest ${Math.max(...all).toFixed(0)} ms of ${all.length}`,
    };
  },
};

async function once(bench: Bench): Promise<number[]> {
  const folder = bench.folder();
  const [front, worker] = await Promise.all([Member.start(folder, { slots: 0 }), Member.start(folder, {})]);
  try {
    const waits: number[] = [];
    for (const _ of turns(CANCELS, 10_000)) {
      await front.order({ do: 'create', tool: 'hang', count: 1, inFlight: 1 });
      await worker.nextStart(5_000);
      await pause(5 + Math.random() * 20); // At any moment between two looks of the worker.
      const [{ at }, stop] = await Promise.all([front.order({ do: 'cancel' }), worker.nextStop(60_000)]);
      waits.push(stop.at - at);
    }
    return waits;
  } finally {
    await Promise.all([front.stop(), worker.stop()]);
  }
}
