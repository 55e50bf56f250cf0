import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'run_tests',
  { description: 'Run the tests of a branch', inputSchema: z.object({ branch: z.string() }) },
  async ({ branch }, task) => {
    await task.sleep(1_500); // Stands for the real work, here and below.
    return text(`412 tests of ${branch} passed, 0 failed`);
  },
);

tasks.registerTool(
  'audit',
  { description: 'Look for known flaws in what a service depends on', inputSchema: z.object({ service: z.string() }) },
  async ({ service }, task) => {
    await task.sleep(1_000);
    return text(`1 flaw in ${service}: left-pad 1.0.0`);
  },
);

tasks.registerTool(
  'release',
  { description: 'Release a version, once a person approves', inputSchema: z.object({ version: z.string() }) },
  async ({ version }, task) => {
    await task.sleep(500);
    const approval = await task.ask('approve', { message: `Release ${version}?`, schema: z.object({}) });
    return text(approval.action === 'accept' ? `${version} is out` : `${version} was not released`);
  },
);

const server = createTaskServer(tasks, { name: 'agents', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
