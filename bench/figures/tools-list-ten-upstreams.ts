import type { Bench, Figure } from '../figure.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { StdioPeer } from '../support/stdio-peer.ts';
import { stdioServer, stdioUpstreams } from '../support/upstreams.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const UPSTREAMS = 10;
const WARM_UP = 150;
const LISTS = 300;

/** What it costs to see the tools of ten servers at once. */
export const toolsListTenUpstreams: Figure = {
  name: 'tools-list-ten-upstreams',
  unit: 'ratio',
  aim: 2,
  better: 'lower',
  against:
    'tools/list of one of the servers (server-memory, nine tools) without the gateway, over stdio, p50; through the gateway, ' +
    'over stdio too, all ninety are listed',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const [ten, one] = [median(runs.map((run) => run.ten)), median(runs.map((run) => run.one))];
    return { values: runs.map((run) => run.ten / run.one), detail: `${ten.toFixed(3)} ms / ${one.toFixed(3)} ms` };
  },
};

async function once(bench: Bench): Promise<{ ten: number; one: number }> {
  const server = new URL('../servers/gateway.ts', import.meta.url).pathname;
  const gateway = [...process.execArgv, server, bench.folder(), JSON.stringify(stdioUpstreams(UPSTREAMS)), 'stdio'];
  const one = await StdioPeer.start(stdioServer.command, stdioServer.args);
  const ten = await StdioPeer.start(process.execPath, gateway);
  const sides = [
    { peer: one, last: '"open_nodes"', times: [] as number[] },
    { peer: ten, last: '"memory9_open_nodes"', times: [] as number[] },
  ];
  const list = async ({ peer, last, times }: (typeof sides)[number]): Promise<void> => {
    const { ms, text } = await peer.request('tools/list');
    if (!text.includes(last)) throw new Error(`expected ${last} in the list, got ${text}`);
    times.push(ms);
  };
  try {
    for (const _ of turns(WARM_UP, 3_000)) for (const side of sides) await list(side);
    for (const { times } of sides) times.length = 0;
    for (const _ of turns(LISTS, 3_000)) for (const side of shuffled(sides)) await list(side);
    return { one: median(sides[0]?.times ?? []), ten: median(sides[1]?.times ?? []) };
  } finally {
    await Promise.all(sides.map(({ peer }) => peer.stop()));
  }
}
