import type { Figure } from '../figure.ts';
import { machineTime, pause } from '../support/machine-time.ts';
import { Member } from '../support/member.ts';
import { median, series } from '../support/statistics.ts';

const WINDOWS = 5;
const WINDOW_MS = 6_000;
/**
 * Until what starting left to do is done. V8 still tidies up once, some time in the first minute (0.1 s of work in each
 * process); which window that meets is chance, and the median leaves it out.
 */
const SETTLE_MS = 15_000;

/** What a server and a worker cost a laptop on which nothing happens. */
export const idleCpu: Figure = {
  name: 'idle-cpu',
  unit: '% of a core',
  aim: 0.3,
  better: 'lower',
  against:
    'nothing: user and system time of a server process and a worker process on one SQLite file without tasks, over ' +
    'five windows of six seconds that follow on each other',
  async measure(bench) {
    const folder = bench.folder();
    const members = [await Member.start(folder, { slots: 0, serves: true }), await Member.start(folder, {})];
    const cpu = () => Promise.all(members.map(async (member) => (await member.order({ do: 'cpu' })).ms));
    try {
      await pause(SETTLE_MS);
      const windows = await series(WINDOWS, async (window) => {
        bench.progress(`window ${window} of ${WINDOWS}`);
        const since = machineTime();
        const before = await cpu();
        await pause(WINDOW_MS);
        const after = await cpu();
        const ms = machineTime() - since;
        return after.map((used, index) => (100 * (used - (before[index] ?? 0))) / ms);
      });
      const side = (index: number) => median(windows.map((shares) => shares[index] ?? 0)).toFixed(3);
      return {
        values: windows.map((shares) => shares.reduce((sum, share) => sum + share, 0)),
        detail: `server ${side(0)} %, worker ${side(1)} %`,
      };
    } finally {
      await Promise.all(members.map((member) => member.stop()));
    }
  },
};
