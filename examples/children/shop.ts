import { appendFileSync } from 'node:fs';
import { createTasks, sqliteStore, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';

const tasks = createTasks({ store: sqliteStore(process.env.TASKS_DB ?? 'shop.db') });
const wrote = (line: string): void => appendFileSync(process.env.WROTE ?? 'shop.txt', `${line}\n`);

tasks.registerTool(
  'build',
  { description: 'Build for a platform', inputSchema: z.object({ platform: z.string() }) },
  async ({ platform }, task) => {
    await task.step('build', () => wrote(`build ${platform}`));
    await task.sleep(3_000);
    return text(platform);
  },
);

tasks.registerTool(
  'publish',
  { description: 'Publish builds, once somebody approves', inputSchema: z.object({ builds: z.number() }) },
  async ({ builds }, task) => {
    const answer = await task.ask('approve', {
      message: `Publish ${builds} builds?`,
      schema: z.object({ approved: z.boolean() }),
    });
    const approved = answer.action === 'accept' && answer.content.approved;
    wrote(approved ? 'publish' : 'do not publish');
    return text(approved ? `${builds} builds are published` : 'nothing is published');
  },
);

console.log((await createTaskServer(tasks, { name: 'shop', version: '1.0.0' }).listen({ port: 0 })).url);
