// A host that calls tools, told over IPC what to do: `host.ts ours|sdk URL [JOURNAL] [push|poll]`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openTaskClient } from 'longcall/client';
import type { HostOrder, HostReplies, HostReply } from '../support/host.ts';
import { machineTime, pause } from '../support/machine-time.ts';

const [kind = 'ours', url = '', journal = ':memory:', how = 'push'] = process.argv.slice(2);
const MB = 1024 * 1024;
const IN_FLIGHT = 32;

type CallOnce = (words: string) => Promise<unknown>;

/** When each task was asked for, by the machine's clock. */
const polls = new Map<string, number[]>();

/** Notes polls, and where wanted refuses to push as a server that does not would. */
const noting: typeof fetch = async (input, init) => {
  const body = typeof init?.body === 'string' ? init.body : '';
  if (body.includes('"tasks/get"')) {
    const { taskId } = (JSON.parse(body) as { params: { taskId: string } }).params;
    const times = polls.get(taskId) ?? [];
    polls.set(taskId, times);
    times.push(machineTime());
  }
  if (how === 'poll' && body.includes('"subscriptions/listen"')) {
    const { id } = JSON.parse(body) as { id: string };
    return Response.json({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  }
  return fetch(input, init);
};

const orders: { [What in HostOrder['do']]: (order: Extract<HostOrder, { do: What }>) => Promise<HostReplies[What]> } =
  kind === 'ours' ? await ours() : await sdk();

process.on('message', (order: HostOrder & { id: number }) => {
  const done = orders[order.do](order as never) as Promise<HostReplies[HostOrder['do']]>;
  done.then(
    (value) => tell({ reply: order.id, value }),
    (error: Error) => tell({ reply: order.id, error: error.message }),
  );
});
process.once('disconnect', () => process.exit());
tell('ready');

function tell(message: HostReply): void {
  process.send?.(message);
}

async function ours(): Promise<typeof orders> {
  const client = await openTaskClient({ journal });
  const server = await client.connect('bench', { url, http: { fetch: noting } });
  return {
    call: ({ count }) =>
      timed(count, async (words) => (await server.callTool({ name: 'echo', arguments: { words } })).result()),
    async follow({ count }) {
      let left = count;
      const one = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          const call = await server.callTool({ name: 'nap' });
          for await (const { phase, end } of call.updates()) {
            if (end !== undefined) throw new Error(`a nap ended: ${JSON.stringify(end)}`);
            if (phase === 'following') break;
          }
        }
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, one));
      return undefined;
    },
    memory,
    async polls({ windowMs }) {
      polls.clear();
      const cpu = process.cpuUsage();
      await pause(windowMs);
      const { user, system } = process.cpuUsage(cpu);
      const gaps = [...polls.values()].flatMap((times) => times.slice(1).map((at, n) => at - (times[n] as number)));
      const sent = [...polls.values()].reduce((sum, times) => sum + times.length, 0);
      return { sent, shortestGapMs: Math.min(...gaps), cpu: (user + system) / 10 / windowMs };
    },
  };
}

async function sdk(): Promise<typeof orders> {
  const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const none = async (): Promise<never> => {
    throw new Error('the SDK alone does not follow tasks');
  };
  return {
    call: ({ count }) => timed(count, (words) => client.callTool({ name: 'echo', arguments: { words } })),
    follow: none,
    memory,
    polls: none,
  };
}

/** How long each call took, one after the other. */
async function timed(count: number, call: CallOnce): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const started = performance.now();
    const result = await call('to be called or not to be');
    times.push(performance.now() - started);
    if (!JSON.stringify(result).includes('to be called')) throw new Error(`no echo: ${JSON.stringify(result)}`);
  }
  return times;
}

async function memory(): Promise<HostReplies['memory']> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await pause(50);
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: rss / MB, heap: heapUsed / MB };
}
