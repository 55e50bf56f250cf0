// A server as users of longcall write it, over a store in the folder it is given.
import { join } from 'node:path';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const [folder = ''] = process.argv.slice(2);
const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')) });
tasks.registerTool(
  'echo',
  { description: 'Says what it is told', inputSchema: z.object({ words: z.string() }) },
  ({ words }) => text(words),
);
const server = createTaskServer(tasks, { name: 'durable', version: '1.0.0' });
const { url } = await server.listen({ port: 0 });
process.once('disconnect', () => void server.close());
process.send?.(url);
