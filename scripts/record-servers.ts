// Takes down how a server somebody else wrote speaks of tasks, for tests of what reads such answers:
// `npx tsx scripts/record-servers.ts` writes test/servers/recordings anew. Needs python3, and the first time PyPI.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { FASTMCP, NEWER } from './interop/peers/python.ts';
import { HttpWire, StdioWire, type Wire } from './recording/wires.ts';
import { endAll, ended, track } from './support/children.ts';
import { pythonWith } from './support/toolchains.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'test/servers/recordings');
const program = join(import.meta.dirname, 'recording/fastmcp_tasks_server.py');
const plain = { capabilities: {} };

const python = await pythonWith(NEWER, join(root, '.cache')); // The one of `npm run interop`.
mkdirSync(folder, { recursive: true });
try {
  const stdio = new StdioWire(python, [program, 'stdio']);
  await converse(stdio);
  await stdio.close();
  save('stdio', stdio);

  const server = track(spawn(python, [program, 'http'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const http = new HttpWire(url);
  await listening(url);
  await converse(http);
  server.kill('SIGTERM');
  await ended(server);
  save('http', http);
} finally {
  await endAll();
}

/** The whole life of a task, in each way it can go. */
async function converse(wire: Wire): Promise<void> {
  wire.segment('discovery');
  await wire.ask('server/discover');
  await wire.ask('tools/list');

  wire.segment('completed: progress on the way, and the result twice');
  const walk = await wire.start('walk', { steps: 2 });
  await wire.until(walk, 'completed');
  await wire.ask('tasks/get', { taskId: walk });

  wire.segment('reported: the tool ran, and says that it failed');
  await wire.until(await wire.start('report'), 'completed', 'failed');

  wire.segment('broken: an error of the tool');
  await wire.until(await wire.start('broken'), 'completed', 'failed');

  wire.segment('failed: a JSON-RPC error');
  await wire.until(await wire.start('refused'), 'completed', 'failed');

  for (const [title, answer] of [
    ['accepted', { action: 'accept', content: { colour: 'green' } }],
    ['declined', { action: 'decline' }],
  ] as const) {
    wire.segment(`input: a question, ${title}`);
    const taskId = await wire.start('ask');
    const { inputRequests } = (await wire.until(taskId, 'input_required')) as { inputRequests: object };
    await wire.ask('tasks/update', { taskId, inputResponses: { 'made-up': answer } });
    const answers = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    await wire.ask('tasks/update', { taskId, inputResponses: answers });
    await wire.until(taskId, 'completed', 'failed');
  }

  wire.segment('cancelled: while it works, and once more');
  const wait = await wire.start('wait');
  await wire.ask('tasks/cancel', { taskId: wait });
  await wire.until(wait, 'cancelled');
  await wire.ask('tasks/cancel', { taskId: wait });

  wire.segment('unknown: ids and methods that are none');
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result']) await wire.ask(method, { taskId: 'made-up' });
  await wire.ask('tasks/update', { taskId: 'made-up', inputResponses: {} });
  await wire.ask('tasks/list');

  wire.segment('plain: a caller that declares no tasks');
  await wire.ask('tools/call', { name: 'greet', arguments: { name: 'Ada' } }, plain);
  await wire.ask('tools/call', { name: 'walk', arguments: { steps: 1 } }, plain);
  await wire.ask('tools/call', { name: 'must_walk', arguments: {} }, plain);
  await wire.ask('tasks/get', { taskId: walk }, plain);

  wire.segment('inline: a tool that is never a task, and arguments that do not fit');
  await wire.ask('tools/call', { name: 'greet', arguments: { name: 'Ada' } });
  await wire.ask('tools/call', { name: 'walk', arguments: { steps: 'many' } });

  if (!(wire instanceof HttpWire)) return;
  wire.segment('nameless: a request about a task without Mcp-Name');
  await wire.ask('tasks/get', { taskId: walk }, { without: 'mcp-name' });
}

function save(transport: 'http' | 'stdio', { lines }: Wire): void {
  const recording = {
    host: 'fastmcp-tasks',
    version: FASTMCP,
    transport,
    server: NEWER.join(' '),
    negotiated: '2026-07-28',
  };
  const rows = [{ recording }, ...lines].map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(folder, `fastmcp-tasks.${transport}.jsonl`), rows.join(''));
}

/** It says where before it is there. */
async function listening(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const there = await fetch(url).then(
      () => true,
      () => false,
    );
    if (there) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nobody listens at ${url}`);
}
