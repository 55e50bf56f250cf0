import { setTimeout } from 'node:timers/promises';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'transcode',
  {
    description: 'Transcode frames of a film',
    inputSchema: z.object({ frames: z.int().min(1) }),
    task: { pollIntervalMs: 100 },
  },
  async ({ frames }, task) => {
    for (let n = 0; n < frames; n += 100) {
      const end = Math.min(n + 100, frames);
      await task.step(`frames ${n}`, ({ signal }) => encode(n, end, signal)); // Recorded: not done again after a crash.
      task.progress(end, frames, 'frames');
    }
    return text(`${frames} frames`);
  },
);

/** Stands for the real work. */
async function encode(start: number, end: number, signal: AbortSignal): Promise<string> {
  await setTimeout(300, undefined, { signal });
  return `${start}-${end}.mp4`;
}

const server = createTaskServer(tasks, { name: 'first-task', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
