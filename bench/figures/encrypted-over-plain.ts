import { randomBytes } from 'node:crypto';
import type { Bench, Figure } from '../figure.ts';
import { lifecycles, openStore } from '../support/lifecycles.ts';
import { median, series } from '../support/statistics.ts';
import { perSecond } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 2_000;
/** Both sides take turns within a run, in slices short enough that a busy disk or core meets both. */
const SLICES = 10;
const TASKS = 400;

/** What encryption at rest costs. */
export const encryptedOverPlain: Figure = {
  name: 'encrypted-over-plain',
  unit: 'ratio',
  aim: 0.7,
  better: 'higher',
  against: 'the same store without keys; both as in store-lifecycles',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const encrypted = median(runs.map((run) => run.encrypted));
    const plain = median(runs.map((run) => run.plain));
    return {
      values: runs.map((run) => run.encrypted / run.plain),
      detail: `${Math.round(encrypted)} per s / ${Math.round(plain)} per s`,
    };
  },
};

async function once(bench: Bench): Promise<{ encrypted: number; plain: number }> {
  await using sealing = await openStore(bench.folder(), { encryption: { use: 'k', keys: { k: randomBytes(32) } } });
  await using plain = await openStore(bench.folder());
  for (const store of [sealing, plain]) await lifecycles(store, WARM_UP, 1_500);
  const slices = await series(SLICES, async () => ({
    encrypted: await lifecycles(sealing, TASKS, 300),
    plain: await lifecycles(plain, TASKS, 300),
  }));
  return {
    encrypted: perSecond(slices.map(({ encrypted }) => encrypted)),
    plain: perSecond(slices.map(({ plain: side }) => side)),
  };
}
