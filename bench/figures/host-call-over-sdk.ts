import { join } from 'node:path';
import type { Bench, Figure } from '../figure.ts';
import { Host } from '../support/host.ts';
import { startServer } from '../support/server-process.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 12;
const SLICES = 24;
const CALLS = 25;

/** What a journal on disk costs whoever calls a tool that answers at once. */
export const hostCallOverSdk: Figure = {
  name: 'host-call-over-sdk',
  unit: 'ratio',
  aim: 1.15,
  better: 'lower',
  against:
    'callTool of the official client on the same server of the official SDK (echo, Streamable HTTP 2026-07-28); ours: callTool ' +
    'and result, the journal a file, intent and end flushed; one after the other, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const [ours, sdk] = [median(runs.map((run) => run.ours)), median(runs.map((run) => run.sdk))];
    return {
      values: runs.map((run) => run.ours / run.sdk),
      detail: `${ours.toFixed(3)} ms / ${sdk.toFixed(3)} ms`,
    };
  },
};

async function once(bench: Bench): Promise<{ ours: number; sdk: number }> {
  const server = await startServer('plain');
  const journal = join(bench.folder(), 'host.db');
  const hosts = {
    ours: await Host.start(['ours', server.url, journal]),
    sdk: await Host.start(['sdk', server.url]),
  };
  const times = { ours: [] as number[], sdk: [] as number[] };
  const slice = async (side: keyof typeof hosts): Promise<void> => {
    times[side].push(...(await hosts[side].order({ do: 'call', count: CALLS })));
  };
  try {
    for (const _ of turns(WARM_UP, 3_000)) for (const side of ['ours', 'sdk'] as const) await slice(side);
    times.ours.length = times.sdk.length = 0;
    for (const _ of turns(SLICES, 6_000)) for (const side of shuffled(['ours', 'sdk'] as const)) await slice(side);
    return { ours: median(times.ours), sdk: median(times.sdk) };
  } finally {
    await Promise.all([hosts.ours.stop(), hosts.sdk.stop(), server.stop()]);
  }
}
