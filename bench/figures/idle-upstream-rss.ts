import type { Bench, Figure } from '../figure.ts';
import { startChild } from '../support/children.ts';
import { HttpClient, modern } from '../support/http-client.ts';
import { median, series } from '../support/statistics.ts';
import { stdioUpstreams } from '../support/upstreams.ts';

const RUNS = 5;
const UPSTREAMS = 20;

interface Memory {
  rss: number;
  heap: number;
}

/** What the gateway keeps of an upstream that is there and has nothing to do. */
export const idleUpstreamRss: Figure = {
  name: 'idle-upstream-rss',
  unit: 'MB',
  aim: 0.5,
  better: 'lower',
  against:
    'a gateway with one upstream; 21 of them (server-memory over stdio, each with its process, connected and listed once), ' +
    'divided by 20; of the gateway alone, garbage collected both times',
  async measure(bench) {
    const runs = await series(RUNS, async (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return { one: await kept(bench, 1), all: await kept(bench, UPSTREAMS + 1) };
    });
    const of = (side: 'one' | 'all', what: keyof Memory) => median(runs.map((run) => run[side][what])).toFixed(1);
    return {
      values: runs.map(({ one, all }) => (all.rss - one.rss) / UPSTREAMS),
      detail: `RSS ${of('one', 'rss')} to ${of('all', 'rss')} MB, JavaScript heap ${of('one', 'heap')} to ${of('all', 'heap')} MB`,
    };
  },
};

async function kept(bench: Bench, upstreams: number): Promise<Memory> {
  const child = startChild('gateway', [bench.folder(), JSON.stringify(stdioUpstreams(upstreams))], ['--expose-gc']);
  const told = <Told>(): Promise<Told> =>
    Promise.race([
      new Promise<Told>((resolve) => child.process.once('message', (message) => resolve(message as Told))),
      child.gone.then((status) => Promise.reject(new Error(`the gateway ended with ${status}`))),
    ]);
  const client = new HttpClient(await told<string>());
  try {
    for (let list = 0; list < 20; list += 1) {
      await client.send(modern('tools/list'), `"memory${upstreams - 1}_open_nodes"`);
    }
    const memory = told<Memory>();
    child.process.send('memory');
    return await memory;
  } finally {
    client.close();
    child.process.disconnect();
    await child.gone;
  }
}
