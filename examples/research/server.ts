import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

/** How long each takes, in milliseconds: they end one after the other. */
const TOPICS: Record<string, number> = { tides: 600, currents: 1_200, salt: 4_000, storms: 4_600, ice: 5_200 };

tasks.registerTool(
  'research',
  {
    description: 'Read what is known about a topic',
    inputSchema: z.object({ topic: z.string() }),
    task: { onWorkerLost: 'rerun' }, // It only reads.
  },
  async ({ topic }, task) => {
    await task.sleep(TOPICS[topic] ?? 1_000);
    return text(`what is known about ${topic}`);
  },
);

const server = createTaskServer(tasks, { name: 'research', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
