import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';
import { clockAhead } from './clock.ts';

const tasks = createTasks({
  store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db'),
  clock: clockAhead(Number(process.env.AHEAD_MS ?? 0)),
});

tasks.registerTool(
  'refund',
  {
    description: 'Pay an order back, once somebody approves',
    inputSchema: z.object({ order: z.string() }),
    task: { pollIntervalMs: 500 },
  },
  async ({ order }, task) => {
    const amount = await task.step('look up', () => 120); // Not looked up again tomorrow.
    const answer = await task.ask('approve', {
      message: `Pay ${amount} EUR back for ${order}?`,
      schema: z.object({ by: z.string() }),
    });
    if (answer.action !== 'accept') return text(`${order}: nothing was paid back`);
    return text(`${order}: ${amount} EUR paid back, approved by ${answer.content.by}`);
  },
);

const server = createTaskServer(tasks, { name: 'approval', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
