// A server that is killed and started again under a client: `server-process.ts WIRE FOLDER PORT`. FOLDER holds its database
// and `ran`, where every run of a tool is noted before it does anything.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { systemClock } from '../../../src/core/index.ts';
import { createTasks, text } from '../../../src/engine/index.ts';
import { createTaskServer } from '../../../src/server/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { silent } from '../../support/stores.ts';
import type { WireName } from './wires.ts';

const [wire, folder, port] = process.argv.slice(2) as [WireName, string, string];
const inputSchema = z.object({ n: z.number() });

const ran = (n: number): void => appendFileSync(join(folder, 'ran'), `${n}\n`);
/** Work that takes its time, and cannot be gone on with. */
const work = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = systemClock.setTimer(ms, resolve);
    signal.addEventListener('abort', () => {
      timer.cancel();
      resolve();
    });
  });
/** Every tool of the others, too: how long it takes, and what it says. */
const tools = {
  quick: { ms: 0, says: (n: number) => text(`did ${n}`) },
  slow: { ms: 150, says: (n: number) => text(`did ${n}`) },
  report: { ms: 20, says: (n: number) => ({ ...text(`did ${n}`), isError: true }) },
};

function withTasks() {
  const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')), logger: silent, drainMs: 100 });
  for (const [name, { ms, says }] of Object.entries(tools)) {
    tasks.registerTool(name, { inputSchema, task: { pollIntervalMs: 500 } }, async ({ n }, { signal }) => {
      ran(n);
      await work(ms, signal);
      return says(n);
    });
  }
  tasks.registerTool('wait', { inputSchema, task: { pollIntervalMs: 500 } }, async ({ n }, { signal }) => {
    ran(n);
    await work(3_600_000, signal);
    return text('too late');
  });
  tasks.registerTool(
    'ask',
    { inputSchema, task: { pollIntervalMs: 500, onWorkerLost: 'fail' } },
    async ({ n }, task) => {
      ran(n);
      const answer = await task.ask('go', { message: `Go on with ${n}?`, schema: z.object({ n: z.number() }) });
      return text(`did ${answer.action === 'accept' ? answer.content.n : 'not'}`);
    },
  );
  return createTaskServer(
    tasks,
    { name: 'storm', version: '1' },
    {
      firstDraft: wire === 'SEP-1686',
      fallback: { detachAfterMs: 50 },
    },
  );
}

/** A server that has never heard of tasks. */
async function plain(): Promise<string> {
  const server = createServer(async (request, response) => {
    const mcp = new McpServer({ name: 'storm', version: '1' });
    for (const [name, { ms, says }] of Object.entries(tools)) {
      mcp.registerTool(name, { inputSchema }, async ({ n }, { mcpReq }) => {
        ran(n);
        await work(ms, mcpReq.signal);
        return says(n) as CallToolResult;
      });
    }
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await mcp.connect(transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => server.listen(Number(port), '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

process.once('disconnect', () => process.exit());
process.send?.(wire === 'none' ? await plain() : (await withTasks().listen({ port: Number(port) })).url);
