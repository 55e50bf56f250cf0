import type { Bench, Figure } from '../figure.ts';
import { callTool, HttpClient, legacy, type Message, modern } from '../support/http-client.ts';
import { startServer } from '../support/server-process.ts';
import { median, series } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 300;
const ROUNDS = 400;

/** Requests that a server answers without doing anything. 2026-07-28 has no ping; the one of 2025-11-25 still works. */
const idle: Record<string, { message: Message; expected: string }> = {
  'server/discover': { message: modern('server/discover'), expected: 'supportedVersions' },
  'tools/list': { message: modern('tools/list'), expected: '"inputSchema"' },
  'ping (2025-11-25)': { message: legacy('ping'), expected: '"result":{}' },
};

/** What a poll costs beyond the HTTP request that carries it. */
export const getOverPing: Figure = {
  name: 'get-over-ping',
  unit: 'ratio',
  aim: 1.1,
  better: 'lower',
  against: 'the cheapest other request on the same server, Streamable HTTP, p50',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const sides = Object.keys(idle).map((name) => ({ name, ms: median(runs.map(({ others }) => others[name] ?? 0)) }));
    const [cheapest = { name: '', ms: 0 }] = sides.sort((a, b) => a.ms - b.ms);
    const all = sides.map(({ name, ms }) => `${name} ${ms.toFixed(3)} ms`).join(', ');
    return {
      values: runs.map(({ get, others }) => get / (others[cheapest.name] ?? 0)),
      against: `${cheapest.name}, the cheapest of ${Object.keys(idle).join(', ')} on the same server, Streamable HTTP, p50`,
      detail: `tasks/get of a finished task with a result of 0.9 kB ${median(runs.map(({ get }) => get)).toFixed(3)} ms; ${all}`,
    };
  },
};

async function once(bench: Bench): Promise<{ get: number; others: Record<string, number> }> {
  const server = await startServer('durable', [bench.folder()]);
  const client = new HttpClient(server.url);
  const get: number[] = [];
  const others = new Map(Object.keys(idle).map((name) => [name, [] as number[]]));
  try {
    const poll = await finishedTask(client);
    const round = async () => {
      get.push((await client.send(poll, '"status":"completed"')).ms);
      for (const [name, { message, expected }] of Object.entries(idle)) {
        others.get(name)?.push((await client.send(message, expected)).ms);
      }
    };
    for (const _ of turns(WARM_UP, 2_000)) await round();
    for (const times of [get, ...others.values()]) times.length = 0;
    for (const _ of turns(ROUNDS, 3_000)) await round();
    return {
      get: median(get),
      others: Object.fromEntries([...others].map(([name, times]) => [name, median(times)])),
    };
  } finally {
    client.close();
    await server.stop();
  }
}

/** Creates a task and waits for its end; gives the request that polls it. */
async function finishedTask(client: HttpClient): Promise<Message> {
  const { text } = await client.send(callTool('echo', { words: 'w'.repeat(900) }), '"resultType":"task"');
  const { taskId } = (JSON.parse(text) as { result: { taskId: string } }).result;
  const poll = modern('tasks/get', { taskId }, taskId);
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await client.send(poll, taskId)).text.includes('"status":"completed"')) return poll;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the task that was to be polled did not end');
}
