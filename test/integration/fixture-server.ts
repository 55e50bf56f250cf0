// A server as a user would write it, run as a process of its own: `fixture-server.ts TRANSPORT DATABASE FOLDER [PORT]`, where
// TRANSPORT is http or stdio, with `-sdk-v1` on a server of the SDK's version 1.
// FOLDER is how tests look inside: `ran` lists what ran, and a file called `go` lets waiting steps end.
import { appendFileSync, existsSync, watch } from 'node:fs';
import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import { createTasks, sqliteStore, type TaskContext, text } from 'longcall';
import { createTaskServer } from 'longcall/server';
import { z } from 'zod';
import { attachedHttp, attachedStdio } from './support-processes/attached.ts';

const [transport, database = ':memory:', folder = '.', port = '0'] = process.argv.slice(2);
const ran = (what: string): void => appendFileSync(`${folder}/ran`, `${what}\n`);

/** Until a file called `go` appears; for ever, but holding nothing, once the step is to stop. */
async function goAhead(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (!existsSync(`${folder}/go`)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(folder, { signal }, look);
    look();
  });
}

// A killed server's tasks go on as soon as its lease is over: not so soon that a busy machine looks dead.
const tasks = createTasks({ store: sqliteStore(database), leaseMs: 3_000, sweepMs: 100, drainMs: 200 });

tasks.registerTool(
  'count',
  { inputSchema: z.object({ to: z.number(), waitAt: z.number().default(0) }), task: { pollIntervalMs: 50 } },
  async ({ to, waitAt }, task) => {
    let sum = 0;
    for (let n = 1; n <= to; n += 1) {
      sum += await task.step(`n ${n}`, async ({ signal }) => {
        ran(`step ${n}`);
        if (n === waitAt) await goAhead(signal);
        return n;
      });
      task.progress(n, to);
    }
    return { ...text(`sum ${sum}`), structuredContent: { sum } };
  },
);

const ask = async (_args: unknown, task: TaskContext) => {
  ran('ask');
  const answer = await task.ask('colour', { message: 'Which colour?', schema: z.object({ colour: z.string() }) });
  return text(answer.action === 'accept' ? `painted ${answer.content.colour}` : `not painted: ${answer.action}`);
};
const wait = async (_args: unknown, task: TaskContext) => {
  ran('wait');
  await new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve(), { once: true }));
  ran('stopped');
  return text('too late');
};
tasks.registerTool('ask', { task: { pollIntervalMs: 50 } }, ask);
tasks.registerTool('wait', { task: { pollIntervalMs: 50 } }, wait);
// The official tasks client asks for a task of 2025-11-25 only where it must.
tasks.registerTool('mustAsk', { task: { support: 'required', pollIntervalMs: 50 } }, ask);
tasks.registerTool('mustWait', { task: { support: 'required', pollIntervalMs: 50 } }, wait);

tasks.registerTool(
  'greet',
  { inputSchema: z.object({ name: z.string() }), task: { support: 'forbidden' } },
  ({ name }) => text(`hello ${name}`),
);
tasks.registerTool('quick', { task: { pollIntervalMs: 50 } }, () => text('done'));
tasks.registerTool('must', { task: { support: 'required', pollIntervalMs: 50 } }, () => text('done as a task'));
tasks.registerTool('report', { task: { pollIntervalMs: 50 } }, () => ({ ...text('no such film'), isError: true }));
tasks.registerTool('broken', { task: { pollIntervalMs: 50 } }, () => {
  throw Object.assign(new Error('the projector broke'), { code: -32050, data: { reel: 3 } });
});

const requestedSchema = z.object({ name: z.string() });
tasks.registerTool(
  'greetLater',
  {
    task: {
      support: 'required',
      pollIntervalMs: 50,
      prepare: (_args, { answers }) => {
        const answer = acceptedContent(answers, 'who', requestedSchema);
        if (answer !== undefined) return { prepared: answer.name };
        const who = inputRequired.elicit({ message: 'Who are you?', requestedSchema });
        return { respond: inputRequired({ inputRequests: { who } }) };
      },
    },
  },
  (_args, task) => text(`hello ${task.prepared}`),
);

const server = createTaskServer(tasks, { name: 'fixture', version: '1.0.0' });
const listen = async () => (await server.listen({ port: Number(port) })).url;
switch (transport) {
  case 'stdio':
    server.stdio();
    break;
  case 'stdio-sdk-v1':
    await attachedStdio(tasks);
    break;
  default: {
    const url = transport === 'http-sdk-v1' ? await attachedHttp(tasks, Number(port)) : await listen();
    console.log(JSON.stringify({ url }));
  }
}
