// A process as users have them: `server-process.ts work|http|stdio DATABASE FOLDER [OPTIONS]`, OPTIONS being those of
// createTasks as JSON. It says `{"url"}` or `{"working"}` once it is ready; over stdio its output belongs to the client.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTasks, sqliteStore } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { registerTools } from './tools.ts';

const [mode, database = '', folder = '', options = '{}'] = process.argv.slice(2);
appendFileSync(join(folder, 'pids'), `${process.pid}\n`);

const tasks = createTasks({ store: sqliteStore(database), ...(JSON.parse(options) as object) });
registerTools(tasks, folder);
const server = createTaskServer(tasks, { name: 'gated', version: '1.0.0' });
if (mode === 'http') {
  const { url } = await server.listen({ port: 0 });
  console.log(JSON.stringify({ url }));
} else if (mode === 'stdio') {
  server.stdio();
} else {
  await tasks.start();
  console.log(JSON.stringify({ working: true }));
  process.stdin.resume(); // Works until its parent is gone.
  process.stdin.once('end', () => process.exit());
}
