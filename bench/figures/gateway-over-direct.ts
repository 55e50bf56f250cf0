import type { Bench, Figure } from '../figure.ts';
import { callTool, HttpClient } from '../support/http-client.ts';
import { startServer } from '../support/server-process.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { httpUpstream } from '../support/upstreams.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 600;
const CALLS = 600;

const call = callTool('echo', { words: 'to be passed on or not to be' }, { tasks: false });
const SIDES = ['direct', 'proxied', 'asTask'] as const;
type Times = Record<(typeof SIDES)[number], number>;

/** What a gateway in between costs the caller of a tool that answers at once. */
export const gatewayOverDirect: Figure = {
  name: 'gateway-over-direct',
  unit: 'ratio',
  aim: 1.3,
  better: 'lower',
  against:
    'the same tool called without the gateway, on a server of the official SDK alone; the gateway in mode direct, both hops ' +
    'Streamable HTTP 2026-07-28, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const of = (side: keyof Times) => median(runs.map((run) => run[side])).toFixed(3);
    return {
      values: runs.map(({ proxied, direct }) => proxied / direct),
      detail: `${of('proxied')} ms / ${of('direct')} ms; in mode task, to a client without tasks ${of('asTask')} ms`,
    };
  },
};

async function once(bench: Bench): Promise<Times> {
  const plain = await startServer('plain');
  const gateway = (mode: 'direct' | 'task') =>
    startServer('gateway', [bench.folder(), JSON.stringify([httpUpstream(plain.url, { mode })])]);
  const [proxied, asTask] = await Promise.all([gateway('direct'), gateway('task')]);
  const servers = { direct: plain, proxied, asTask };
  const sides = SIDES.map((name) => ({ client: new HttpClient(servers[name].url), name, times: [] as number[] }));
  const send = async ({ client, times }: (typeof sides)[number]): Promise<void> => {
    times.push((await client.send(call, 'to be passed on')).ms);
  };
  try {
    for (const _ of turns(WARM_UP, 3_000)) for (const side of sides) await send(side);
    for (const { times } of sides) times.length = 0;
    for (const _ of turns(CALLS, 4_000)) for (const side of shuffled(sides)) await send(side);
    return Object.fromEntries(sides.map(({ name, times }) => [name, median(times)])) as Times;
  } finally {
    for (const { client } of sides) client.close();
    await Promise.all([proxied.stop(), asTask.stop()]);
    await plain.stop();
  }
}
