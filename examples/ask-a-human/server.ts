import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'tasks.db') });

tasks.registerTool(
  'deploy',
  {
    description: 'Build a version and, once somebody approves, put it into production',
    inputSchema: z.object({ version: z.string() }),
    task: { pollIntervalMs: 100 },
  },
  async ({ version }, task) => {
    const image = await task.step('build', () => build(version));
    // May take days: the question is on disk, and so will be the answer.
    const approval = await task.ask('approve', {
      message: `Deploy ${image} to production?`,
      schema: z.object({ window: z.enum(['now', 'tonight']), note: z.string().max(200).optional() }),
    });
    if (approval.action !== 'accept') return text(`${image} is built and was not deployed`);
    const { window, note = 'no note' } = approval.content;
    await task.step('deploy', () => deploy(image, window));
    return text(`${image} goes live ${window} (${note})`);
  },
);

/** These two stand for the real work. */
const build = async (version: string): Promise<string> => `shop:${version}`;
const deploy = async (image: string, window: string): Promise<string> => `${image} scheduled for ${window}`;

const server = createTaskServer(tasks, { name: 'ask-a-human', version: '1.0.0' });
if (process.argv.includes('--stdio')) server.stdio();
else console.log((await server.listen({ port: Number(process.env.PORT ?? 7717) })).url);
