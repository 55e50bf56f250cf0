import type { ServerOptions } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db'), drainMs: 500 });

tasks.registerTool(
  'report',
  { description: 'Write the report of a year', inputSchema: z.object({ year: z.number().int() }) },
  async ({ year }, task) => {
    for (let page = 1; page <= 3; page += 1) {
      await task.step(`page ${page}`, () => setTimeout(100, `${year}, page ${page}`)); // Stands for the real work.
      task.progress(page, 3);
    }
    const { action } = await task.ask('print', { message: 'Print it?', schema: z.object({ copies: z.number() }) });
    return text(`3 pages of ${year}, ${action === 'accept' ? 'printed' : 'not printed'}`);
  },
);

tasks.registerTool(
  'watch',
  { description: 'Watch until told to stop', task: { pollIntervalMs: 100, onWorkerLost: 'rerun' } },
  async (_args, task) => {
    await setTimeout(3_600_000, undefined, { signal: task.signal });
    return text('nothing happened');
  },
);

export const server = createTaskServer(
  tasks,
  { name: 'reports', version: '1.0.0' },
  { fallback: { detachAfterMs: 3_000 } },
);

/** What each of the servers is to tell Node: how long a client may take, in milliseconds. */
export const times: ServerOptions = { headersTimeout: 20_000, requestTimeout: 120_000, keepAliveTimeout: 75_000 };
/** A connection on which nothing moves for as long is closed. Our streams say something every fifteen seconds. */
export const SILENT_MS = 120_000;
