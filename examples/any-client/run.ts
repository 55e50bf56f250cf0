import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { type Clients, onEachTransport } from './clients.ts';

await onEachTransport(new URL('server.ts', import.meta.url), async (clients) => {
  await takesTasks(clients);
  await asksForTasks(clients);
  await knowsNoTasks(clients);
});

/** MCP 2026-07-28 with the tasks extension: the server answers with a task, and the client polls. */
async function takesTasks({ modern }: Clients): Promise<void> {
  const called = await modern.call('report', { year: 2023 });
  assert('task' in called);
  let { task } = called;
  while (task.status === 'working') {
    await setTimeout(task.pollIntervalMs);
    task = await modern.get(task.taskId);
  }
  assert.deepEqual(task.result?.structuredContent, { pages: 4 });
  console.log('  tasks of 2026-07-28: a task, then 4 pages');
}

/** MCP 2025-11-25, as the official SDK v1 speaks it: the client asks for a task, polls, and fetches the result. */
async function asksForTasks({ sdkV1 }: Clients): Promise<void> {
  await sdkV1.listTools();
  const call = { name: 'report', arguments: { year: 2024 } };
  const seen = new Set<string>();
  for await (const message of sdkV1.experimental.tasks.callToolStream(call, undefined, { task: { ttl: 60_000 } })) {
    seen.add(message.type);
    if (message.type === 'result') assert.deepEqual(message.result.structuredContent, { pages: 4 });
  }
  assert.deepEqual([...seen], ['taskCreated', 'taskStatus', 'result']);
  console.log('  tasks of 2025-11-25: a task, then 4 pages');
}

/** Any other client: it is told what runs and how to go on, in words for its model. */
async function knowsNoTasks({ plain }: Clients): Promise<void> {
  await plain.listTools(); // Shows `task_wait`, and an output schema that both answers fit: the client checks them.
  const early = await plain.callTool({ name: 'report', arguments: { year: 2025 } });
  const [note] = early.content;
  assert(note?.type === 'text');
  const [, args = ''] = /^Next: call task_wait with (\{.*\})/m.exec(note.text) ?? [];
  const { structuredContent } = await plain.callTool({ name: 'task_wait', arguments: JSON.parse(args) });
  assert.deepEqual(structuredContent, { pages: 4 });
  console.log(`  no tasks: "${note.text.slice(0, 12)}", task_wait, then 4 pages`);
}
