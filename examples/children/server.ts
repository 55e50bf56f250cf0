import { createTasks, sqliteStore, text } from 'longcall';
import { callTool, openTaskClient } from 'longcall/client';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

// The journal says which calls were made for which task; `tasks` makes a cancel of a task reach its calls.
const client = await openTaskClient({ journal: process.env.JOURNAL ?? 'calls.db', tasks });
const shop = await client.connect('shop', { url: process.env.SHOP ?? 'http://127.0.0.1:7718/mcp' });

tasks.registerTool(
  'release',
  {
    description: 'Build for several platforms, then publish',
    inputSchema: z.object({ platforms: z.array(z.string()) }),
  },
  async ({ platforms }, task) => {
    const builds = await Promise.all(platforms.map((platform) => callTool(task, shop, 'build', { platform })));
    task.log(`${builds.length} builds are there`);
    const published = await callTool(task, shop, 'publish', { builds: builds.length });
    return text((published.content as [{ text: string }])[0].text);
  },
);

const server = createTaskServer(tasks, { name: 'releases', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
