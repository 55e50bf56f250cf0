import type { Bench, Figure } from '../figure.ts';
import { callTool, HttpClient, type Message, modern } from '../support/http-client.ts';
import { startServer } from '../support/server-process.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { turns } from '../support/work.ts';

const RUNS = 5;
const WARM_UP = 300;
const ROUNDS = 400;
/** So many that no task is polled faster than a server lets a task be polled. */
const TASKS = 100;

/**
 * Requests that a server answers without doing anything. 2026-07-28 has no ping, and the one of 2025-11-25, which the same
 * endpoint serves, costs more than any of these.
 */
const idle: Record<string, { message: Message; expected: string }> = {
  'server/discover': { message: modern('server/discover'), expected: 'supportedVersions' },
  'tools/list': { message: modern('tools/list'), expected: '"inputSchema"' },
};

/** What a poll costs beyond the HTTP request that carries it. */
export const getOverPing: Figure = {
  name: 'get-over-ping',
  unit: 'ratio',
  aim: 1.1,
  better: 'lower',
  against: 'the cheapest other request on the same server, Streamable HTTP 2026-07-28, p50',
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
      against: `${cheapest.name}, the cheapest other request on the same server, Streamable HTTP 2026-07-28, p50`,
      detail: `tasks/get of finished tasks with a result of 0.9 kB ${median(runs.map(({ get }) => get)).toFixed(3)} ms; ${all}`,
    };
  },
};

async function once(bench: Bench): Promise<{ get: number; others: Record<string, number> }> {
  const server = await startServer('durable', [bench.folder()]);
  const client = new HttpClient(server.url);
  try {
    const polls = await series(TASKS, () => finishedTask(client));
    const get = { name: 'get', messages: polls, expected: '"status":"completed"', times: [] };
    const others = Object.entries(idle).map(([name, { message, expected }]) => ({
      name,
      messages: [message],
      expected,
      times: [],
    }));
    const sides: { messages: Message[]; expected: string; times: number[] }[] = [get, ...others];
    const ask = async (n: number) => {
      // In an order of chance: what one request leaves to clean up is paid by the next.
      for (const { messages, expected, times } of shuffled(sides)) {
        times.push((await client.send(messages[n % messages.length] as Message, expected)).ms);
      }
    };
    for (const n of turns(WARM_UP, 2_000)) await ask(n);
    for (const { times } of sides) times.length = 0;
    for (const n of turns(ROUNDS, 3_000)) await ask(n);
    return {
      get: median(get.times),
      others: Object.fromEntries(others.map(({ name, times }) => [name, median(times)])),
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
