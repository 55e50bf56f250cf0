// The server that `npm run interop` shows to clients we did not write: `server-process.ts http|stdio FOLDER PORT OPTIONS`.
// FOLDER holds the database and is how a scenario looks inside: `ran` lists what ran, `pid` is this process's, and a file
// with the name of a gate opens that gate.
import { appendFileSync, existsSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTasks, sqliteStore, type ToolTaskOptions, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';
import type { ServerOptions } from '../../scripts/interop/site.ts';

const [transport = 'http', folder = '.', port = '0', json = '{}'] = process.argv.slice(2);
const { detachAfterMs, isErrorStatus } = JSON.parse(json) as ServerOptions;

const tasks = createTasks({ store: sqliteStore(join(folder, 'tasks.db')), sweepMs: 100, drainMs: 200 });
const ran = (what: string): void => appendFileSync(join(folder, 'ran'), `${what}\n`);

/** Waits until a gate is open; gives up, holding nothing, when the task is to stop. */
async function passed(gate: string, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (!existsSync(join(folder, gate))) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(folder, { signal }, look);
    look();
  });
}

const gated = z.object({ gate: z.string() });
const walk = gated.extend({ steps: z.number(), at: z.number().default(0) });

/** Some clients use tasks only for tools that demand it, others only where tools leave it to them. */
for (const support of ['optional', 'required'] as const) {
  const task: ToolTaskOptions = { support, pollIntervalMs: 50 };
  const name = (plain: string): string => (support === 'required' ? `must_${plain}` : plain);

  tasks.registerTool(
    name('walk'),
    {
      description: 'Walks some steps, and waits at one of them for its gate',
      inputSchema: walk,
      outputSchema: z.object({ walked: z.number() }),
      task,
    },
    async ({ gate, steps, at }, context) => {
      for (let n = 1; n <= steps; n += 1) {
        await context.step(`step ${n}`, async ({ signal }) => {
          ran(`${gate} step ${n}`);
          if (n === at) await passed(gate, signal);
        });
        context.progress(n, steps);
      }
      return { ...text(`walked ${steps}`), structuredContent: { walked: steps } };
    },
  );

  // Who comes for a question later than twice this is asked where it listens as well.
  const asking = { ...task, pollIntervalMs: 250 };
  tasks.registerTool(name('ask'), { description: 'Asks for a colour', task: asking }, async (_args, context) => {
    const schema = z.object({ colour: z.string() });
    const answer = await context.ask('colour', { message: 'Which colour?', schema });
    return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : `not painted: ${answer.action}`);
  });

  tasks.registerTool(
    name('wait'),
    { description: 'Waits until it is cancelled', inputSchema: gated, task },
    async ({ gate }, { signal }) => {
      ran(`${gate} waits`);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      ran(`${gate} stopped`);
      return text('too late');
    },
  );

  tasks.registerTool(name('report'), { description: 'Reports that it went wrong', task }, () => ({
    ...text('no such film'),
    structuredContent: { missing: 7 },
    isError: true,
  }));

  tasks.registerTool(
    name('misreport'),
    { description: 'Reports the same, though it promises a film', outputSchema: z.object({ film: z.string() }), task },
    () => ({ ...text('no such film'), structuredContent: { missing: 7 }, isError: true }),
  );

  tasks.registerTool(name('broken'), { description: 'Ends in a JSON-RPC error', task }, () => {
    throw Object.assign(new Error('the projector broke'), { code: -32050, data: { reel: 3 } });
  });
}

tasks.registerTool(
  'greet',
  { description: 'Says hello', inputSchema: z.object({ name: z.string() }), task: { support: 'forbidden' } },
  ({ name }) => text(`hello ${name}`),
);

const server = createTaskServer(
  tasks,
  { name: 'longcall-interop', version: '1.0.0' },
  { ...(detachAfterMs !== undefined && { fallback: { detachAfterMs } }), ...(isErrorStatus && { isErrorStatus }) },
);
writeFileSync(join(folder, 'pid'), String(process.pid));
if (transport === 'stdio') {
  server.stdio();
} else {
  const { url } = await server.listen({ port: Number(port) });
  process.once('disconnect', () => void server.close());
  process.send?.(url);
}
