import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'thumbnail',
  {
    description: 'Make a picture small',
    inputSchema: z.object({ picture: z.number() }),
    task: { pollIntervalMs: 500 },
  },
  async ({ picture }) => {
    const size = await shrink(picture);
    return size === 0 ? { ...text(`picture ${picture} is empty`), isError: true } : text(`${size} kB`);
  },
);

/** Stands for the real work; one picture in forty is broken. */
const shrink = async (picture: number): Promise<number> => (picture % 40 === 0 ? 0 : picture);

const server = createTaskServer(tasks, { name: 'batch', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
