import { fileURLToPath } from 'node:url';
import { createTasks, type JobEnd, sqliteStore } from 'longcall';
import { shellTool } from 'longcall/adapters';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const { TASKS_DB = 'tasks.db', JOBS = '', LONGCALL = '', PATH = '', PORT = '7717' } = process.env;
const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const tasks = createTasks({ store: sqliteStore(TASKS_DB) });

tasks.registerJob(
  'migrate',
  {
    description: 'Rewrite `var` as `const` or `let` in the files of a package',
    inputSchema: z.object({ folder: z.string() }),
    task: {
      onLost: 'rerun', // After a reboot nobody knows how it ended. It may run again: it goes on where it stopped.
      again: async (end) => wasKilled(end), // A command that a signal ended is not lost, but over: this is its end.
    },
  },
  shellTool<{ folder: string }>({
    folder: JOBS, // Where its output is, and how it ended: a server that is started again finds it there.
    command: ({ folder }) => ({
      file: process.execPath,
      args: [script('migrate.mjs'), folder],
      env: { PATH, LONGCALL },
    }),
    limits: { timeoutMs: 30 * 60_000 },
    output: 'json',
  }),
);

tasks.registerJob(
  'publish',
  { description: 'Publish, once somebody says so', inputSchema: z.object({}) },
  shellTool({ folder: JOBS, command: () => ({ file: '/bin/sh', args: [script('publish.sh')], env: { PATH } }) }),
);

function wasKilled(end: JobEnd): boolean {
  if (end.state !== 'done' || !('result' in end)) return false;
  const { signal } = (end.result.structuredContent ?? {}) as { signal?: string };
  return signal === 'SIGKILL';
}

console.log(
  (await createTaskServer(tasks, { name: 'migrations', version: '1.0.0' }).listen({ port: Number(PORT) })).url,
);
