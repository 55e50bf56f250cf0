import type { Bench, Figure } from '../figure.ts';
import { callTool, HttpClient } from '../support/http-client.ts';
import { startServer } from '../support/server-process.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 600;
const CALLS = 600;

const call = callTool('echo', { words: 'to be durable or not to be' });

/** What durability costs the caller of a tool: how much later the handle comes than a plain answer would. */
export const handleOverSync: Figure = {
  name: 'handle-over-sync',
  unit: 'ratio',
  aim: 1.25,
  better: 'lower',
  against:
    'the same tool called synchronously on a server of the official SDK alone (createMcpHandler, Hono, ' +
    '@hono/node-server), Streamable HTTP 2026-07-28, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const handle = median(runs.map((run) => run.handle));
    const sync = median(runs.map((run) => run.sync));
    return {
      values: runs.map((run) => run.handle / run.sync),
      detail: `${handle.toFixed(3)} ms / ${sync.toFixed(3)} ms`,
    };
  },
};

/** Fresh processes for every run: how V8 happens to compile a process is part of the noise. */
async function once(bench: Bench): Promise<{ handle: number; sync: number }> {
  const [durable, plain] = await Promise.all([startServer('durable', [bench.folder()]), startServer('plain')]);
  const clients = { durable: new HttpClient(durable.url), plain: new HttpClient(plain.url) };
  const handle: number[] = [];
  const sync: number[] = [];
  const durably = async () => handle.push((await clients.durable.send(call, '"resultType":"task"')).ms);
  const plainly = async () => sync.push((await clients.plain.send(call, 'to be durable')).ms);
  try {
    for (const _ of turns(WARM_UP, 2_000)) for (const send of [durably, plainly]) await send();
    handle.length = sync.length = 0;
    for (const _ of turns(CALLS, 3_000)) for (const send of shuffled([durably, plainly])) await send();
    return { handle: median(handle), sync: median(sync) };
  } finally {
    for (const client of Object.values(clients)) client.close();
    await Promise.all([durable.stop(), plain.stop()]);
  }
}
