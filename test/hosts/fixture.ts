// The tools of the server that the hosts were recorded against, as far as they are tools of ours, and a few more.
import { z } from 'zod';
import { type Tasks, text } from '../../src/engine/index.ts';

export function registerFixtureTools(tasks: Tasks): void {
  tasks.registerTool(
    'greet',
    { inputSchema: z.object({ name: z.string() }), task: { support: 'forbidden' } },
    ({ name }) => text(`Hello, ${name}!`),
  );
  tasks.registerTool(
    'slow_compute',
    { inputSchema: z.object({ seconds: z.number(), label: z.string().optional() }) },
    async ({ seconds, label }, task) => {
      await task.sleep(seconds * 1_000);
      return text(`computed ${label} in ${seconds}s`);
    },
  );
  tasks.registerTool(
    'slow_progress',
    { inputSchema: z.object({ seconds: z.number(), every: z.number() }) },
    async ({ seconds, every }, task) => {
      for (let done = every; done <= seconds; done += every) {
        await task.sleep(every * 1_000);
        task.progress(done, seconds, `step ${done}`);
      }
      return text(`progressed ${seconds}s`);
    },
  );
  tasks.registerTool(
    'confirm_delete',
    { inputSchema: z.object({ filename: z.string() }), task: { pollIntervalMs: 1_000 } },
    async ({ filename }, task) => {
      const answer = await task.ask('confirm', {
        message: `Delete ${filename}?`,
        schema: z.object({ confirm: z.boolean() }),
      });
      return text(`confirm=${JSON.stringify(answer)}`);
    },
  );
  tasks.registerTool('failing_job', { task: { support: 'required' } }, () => ({
    ...text('job failed'),
    isError: true,
  }));
  tasks.registerTool('failing_optional', {}, () => ({
    ...text('job failed'),
    structuredContent: { exitCode: 3 },
    isError: true,
  }));
}

/** What a call says, in one text; links and the like are left out. */
export function said(result: unknown): string {
  const { content = [] } = (result ?? {}) as { content?: { type: string; text?: string }[] };
  return content.flatMap(({ text }) => text ?? []).join('\n');
}
