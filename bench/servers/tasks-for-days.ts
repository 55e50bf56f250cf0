// A server whose tasks take a day, over a store in the folder it is given, and may be as many as somebody wants.
import { join } from 'node:path';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';

const DAY_MS = 24 * 3_600_000;
const [folder = '', pollIntervalMs = '20000'] = process.argv.slice(2);
const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')), maxOpenTasksPerPrincipal: 1_000_000 });
tasks.registerTool(
  'nap',
  { description: 'Sleeps for a day', task: { pollIntervalMs: Number(pollIntervalMs) } },
  async (_args, task) => {
    await task.sleep(DAY_MS);
    return text('awake');
  },
);
const server = createTaskServer(tasks, { name: 'tasks-for-days', version: '1.0.0' });
const { url } = await server.listen({ port: 0 });
process.once('disconnect', () => void server.close());
process.send?.(url);
