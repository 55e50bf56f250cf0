import type { Figure } from '../figure.ts';
import { FOLLOWED, following, INTERVAL_MS } from '../support/followed.ts';
import { median, series } from '../support/statistics.ts';

const RUNS = 5;
const WINDOW_MS = 45_000;
const SETTLE_MS = 5_000;
/** The hosts' 200 calls from before are polled too. */
const ALL = FOLLOWED + 200;

/** What a host keeps of calls that it follows. */
export const follow10kRss: Figure = {
  name: 'follow-10k-rss',
  unit: 'MB',
  aim: 300,
  better: 'lower',
  against: 'the same process when it had followed 200; 10,000 tasks of a server of ours that pushes; garbage collected',
  long: true,
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return following(bench, 'push', async (host, before) => {
        await host.order({ do: 'polls', windowMs: SETTLE_MS });
        return { before, after: await host.order({ do: 'memory' }) };
      });
    });
    const heap = median(runs.map(({ before, after }) => after.heap - before.heap));
    return {
      values: runs.map(({ before, after }) => after.rss - before.rss),
      detail:
        `RSS ${median(runs.map(({ before }) => before.rss)).toFixed(1)} to ` +
        `${median(runs.map(({ after }) => after.rss)).toFixed(1)} MB, JavaScript heap + ${heap.toFixed(1)} MB`,
    };
  },
};

/** Whether a server is asked more often than it wants to be. */
export const follow10kOverpoll: Figure = {
  name: 'follow-10k-overpoll',
  unit: 'ratio',
  aim: 1,
  better: 'lower',
  against: `the polls that a server asked for by an interval of ${INTERVAL_MS / 1000} s for each of 10,000 tasks, which it does not push`,
  long: true,
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return following(bench, 'poll', (host) => host.order({ do: 'polls', windowMs: WINDOW_MS }));
    });
    const asked = (ALL * WINDOW_MS) / INTERVAL_MS;
    return {
      values: runs.map(({ sent }) => sent / asked),
      detail:
        `${median(runs.map(({ sent }) => sent))} / ${asked} polls in ${WINDOW_MS / 1000} s, no task sooner than after ` +
        `${(Math.min(...runs.map(({ shortestGapMs }) => shortestGapMs)) / 1000).toFixed(2)} s; ` +
        `${median(runs.map(({ cpu }) => cpu)).toFixed(0)} % of a core`,
    };
  },
};
