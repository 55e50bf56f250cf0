import { setTimeout } from 'node:timers/promises';
import { createTasks, sqliteStore } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'report',
  {
    description: 'Write the report of a year',
    inputSchema: z.object({ year: z.number().int() }),
    outputSchema: z.object({ pages: z.number().int() }),
    task: { pollIntervalMs: 100 },
  },
  async ({ year }, task) => {
    for (let page = 1; page <= 4; page += 1) {
      await task.step(`page ${page}`, () => write(year, page));
      task.progress(page, 4, `page ${page}`);
    }
    return { structuredContent: { pages: 4 } };
  },
);

/** Stands for the real work. */
const write = (year: number, page: number): Promise<string> => setTimeout(400, `${year}, page ${page}`);

const server = createTaskServer(
  tasks,
  { name: 'any-client', version: '1.0.0' },
  // Twenty seconds by default, which is longer than an example should take.
  { fallback: { detachAfterMs: 500 } },
);
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
