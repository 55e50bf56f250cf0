// A server with tasks of its own, on standard streams: `durable-server.mjs LEDGER DATABASE`. It writes down what it does the
// moment it does it, as the plain one beside it.
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const [ledger, database] = process.argv.slice(2);
const note = (what, more = {}) => {
  const line = { what, at: Number(process.hrtime.bigint()) / 1e6, server: 'durable', pid: process.pid, ...more };
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
};
const lease = { leaseMs: 2_000, holdInputMs: 250, stopGraceMs: 500, drainMs: 300 };
const tasks = createTasks({ store: sqliteStore(database), ...lease });
const inputSchema = z.object({ token: z.string(), ms: z.number().default(0) });
const often = { onWorkerLost: 'resume', maxAttempts: 1_000 };

/** A step whose value can be made only once: doing it again would show. */
async function step(task, token, tool, key, ms) {
  const value = await task.step(key, async ({ signal }) => {
    note('began', { token, tool, key, task: task.id });
    if (ms >= 0) await setTimeout(ms, undefined, { signal });
    else while (!existsSync(`${ledger}.${token}.go`)) await setTimeout(10, undefined, { signal });
    const made = randomBytes(6).toString('hex');
    note('made', { token, tool, key, value: made });
    return made;
  });
  note('has', { token, tool, key, task: task.id, value });
  return value;
}

function ended(token, tool, task, values) {
  const value = values.join(' ');
  note('done', { token, tool, task: task.id, value });
  return text(value);
}

tasks.registerTool('steps', { inputSchema, task: often }, async ({ token, ms }, task) => {
  const values = [];
  for (const key of ['first', 'second', 'third']) values.push(await step(task, token, 'steps', key, ms));
  return ended(token, 'steps', task, values);
});
tasks.registerTool('ask', { inputSchema, task: often }, async ({ token, ms }, task) => {
  const before = await step(task, token, 'ask', 'before', ms);
  const answer = await task.ask('word', { message: 'The word?', schema: z.object({ word: z.string() }) });
  const value = answer.action === 'accept' ? answer.content.word : answer.action;
  note('heard', { token, tool: 'ask', task: task.id, value });
  return ended(token, 'ask', task, [before, value]);
});

note('up');
createTaskServer(tasks, { name: 'durable', version: '1' }).stdio();
