import type { Bench, Figure } from '../figure.ts';
import { machineTime, pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { median, quantile, series } from '../support/statistics.ts';

const RUNS = 5;
const KILLS = 7;

/** How long a task stands still when its worker is killed and another worker is there. */
export const takeoverP50: Figure = {
  name: 'takeover-p50',
  unit: 'ms',
  aim: 2_000,
  better: 'lower',
  against:
    'nothing: from SIGKILL of the worker process that runs a task to the first line of the next attempt in the only ' +
    'other one, default settings, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const all = runs.flat();
    return {
      values: runs.map(median),
      detail: `p90 ${quantile(all, 0.9).toFixed(0)} ms, longest ${Math.max(...all).toFixed(0)} ms of ${all.length}`,
    };
  },
};

/** A chain: whoever took over is the next to be killed. */
async function once(bench: Bench): Promise<number[]> {
  const folder = bench.folder();
  let victim = await Member.start(folder, {});
  let heir = await Member.start(folder, {});
  try {
    return await series(KILLS, async () => {
      // A process that creates a task runs it itself while it has slots.
      await victim.order({ do: 'create', tool: 'hang', count: 1, inFlight: 1 });
      await victim.nextStart(5_000);
      await pause(200 + Math.random() * 1_000); // At any moment between two sweeps.
      const killedAt = machineTime();
      await victim.kill();
      const start = await heir.nextStart(60_000);
      if (start.attempt !== 2) throw new Error(`expected the second attempt, got ${start.attempt}`);
      victim = heir;
      heir = await Member.start(folder, {});
      return start.at - killedAt;
    });
  } finally {
    await Promise.all([victim.stop(), heir.stop()]);
  }
}
