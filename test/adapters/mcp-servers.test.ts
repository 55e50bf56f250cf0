import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { mcpTool } from '../../src/adapters/index.ts';
import { openTaskClient } from '../../src/client/index.ts';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { JobTaskOptions, Tasks } from '../../src/engine/index.ts';
import { text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { answered } from '../hosts/waiting.ts';
import { type Served, serve } from '../server/peer.ts';
import { deferred, pass, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

const UNKNOWN = { 'x.test/trace': [1, null] };

/** The server behind: real, with tasks of its own, on the same clock. */
function upstream(gate: Promise<unknown>): Served {
  return serve((tasks) => {
    tasks.registerTool('build', { task: { onWorkerLost: 'rerun' } }, async (_args, task) => {
      task.log('compiling');
      task.progress(1, 2, 'half');
      await gate;
      task.log('linking', 'warning');
      return { ...text('built'), structuredContent: { files: 3 }, isError: true, _meta: UNKNOWN };
    });
    tasks.registerTool('approve', {}, async (_args, task) => {
      const answer = await task.ask('sure', { message: 'Really?', schema: z.object({ yes: z.boolean() }) });
      return text(answer.action === 'accept' ? `yes: ${answer.content.yes}` : answer.action);
    });
    tasks.registerTool('broken', {}, () => {
      throw Object.assign(new Error('no disk'), { code: -32_077, data: { disk: 'sda' } });
    });
    tasks.registerTool('quick', { task: { support: 'forbidden' } }, () => ({ ...text('at once'), _meta: UNKNOWN }));
  });
}

async function inFront(served: Served, protocol: string, folder: string, task: JobTaskOptions = {}) {
  const { tasks } = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), clock: served.clock });
  const client = await openTaskClient({ journal: join(folder, 'calls.db'), clock: served.clock, tasks });
  const checked = served.validator.wrapFetch((request: Request) => served.server.fetch(request));
  const fetch = (url: string | URL, init?: RequestInit) => checked(new Request(url, init));
  const server = await client.connect('behind', { url: 'http://127.0.0.1/mcp', http: { fetch }, protocol });
  for (const tool of ['build', 'approve', 'broken', 'quick']) {
    tasks.registerJob(tool, { task }, mcpTool({ server: () => server, tool }));
  }
  const close = async (): Promise<void> => {
    await client.close();
    await tasks.close();
  };
  onTestFinished(close);
  return { tasks, client, close };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const ended = async (tasks: Tasks, served: Served, taskId: string) =>
  (await answered(served.clock, tasks.engine.wait(taskId, LOCAL_PRINCIPAL))).answer.state;

async function until(served: Served, met: () => Promise<boolean>): Promise<void> {
  while (!(await met())) await pass(served.clock, 1_000);
}

describe.each(['2026-07-28', '2025-11-25', '2025-06-18'])('a tool of a server of %s, behind a task', (protocol) => {
  it('tells its progress and log while it runs, and its result as it is', async () => {
    const gate = deferred();
    const served = upstream(gate.promise);
    const { tasks } = await inFront(served, protocol, aFolder());
    const { taskId } = await start(tasks, 'build');
    const log = async () =>
      (await tasks.inspect.readLog(taskId)).lines.map(({ level, text: said }) => `${level} ${said}`);
    await until(served, async () => (await log()).length === 1);
    expect(await log()).toEqual(['info compiling']);
    await pass(served.clock, 300_000);
    gate.resolve();
    const state = await ended(tasks, served, taskId);
    const result = state.status === 'completed' ? state.result : {};
    expect(result).toMatchObject({ ...text('built'), structuredContent: { files: 3 }, isError: true, _meta: UNKNOWN });
    expect(await log()).toEqual(['info compiling', 'warning linking']);
    expect((await served.tasks.inspect.counts()).total).toBe(1);
  });

  it('asks through its task, also across a restart in between', async () => {
    const served = upstream(Promise.resolve());
    const folder = aFolder();
    const first = await inFront(served, protocol, folder);
    const { taskId } = await start(first.tasks, 'approve');
    const open = async (tasks: Tasks) => [...(await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL))];
    await until(served, async () => (await open(first.tasks)).length === 1);
    await first.close();
    const second = await inFront(served, protocol, folder);
    await second.tasks.start();
    await pass(served.clock, 5_000);
    const [[key, question] = ['', undefined]] = await open(second.tasks);
    expect(question).toMatchObject({ kind: 'form', message: expect.stringContaining('Really?') });
    const answer = { action: 'accept', content: { yes: true } } as const;
    await second.tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[key, answer]]));
    expect(await ended(second.tasks, served, taskId)).toMatchObject({ result: text('yes: true') });
    expect((await served.tasks.inspect.counts()).total).toBe(1);
  });

  it('fails with the same error', async () => {
    const served = upstream(Promise.resolve());
    const { tasks } = await inFront(served, protocol, aFolder());
    const { taskId } = await start(tasks, 'broken');
    expect(await ended(tasks, served, taskId)).toMatchObject({
      status: 'failed',
      error: { code: -32_077, message: 'no disk', data: { disk: 'sda' } },
    });
  });

  it('may answer at once', async () => {
    const served = upstream(Promise.resolve());
    const { tasks } = await inFront(served, protocol, aFolder());
    const { taskId } = await start(tasks, 'quick');
    expect(await ended(tasks, served, taskId)).toMatchObject({ result: { ...text('at once'), _meta: UNKNOWN } });
  });

  it('is cancelled with its task, and with one that ran out of time', async () => {
    const served = upstream(new Promise(() => {}));
    const { tasks } = await inFront(served, protocol, aFolder(), { timeoutMs: 60_000 });
    const cancelled = await start(tasks, 'build', { n: 1 });
    const late = await start(tasks, 'build', { n: 2 });
    const counts = async () => (await served.tasks.inspect.counts()).byStatus;
    await until(served, async () => (await counts()).working === 2);
    await tasks.engine.cancel(cancelled.taskId, LOCAL_PRINCIPAL, 'not needed');
    await until(served, async () => (await counts()).cancelled === 1);
    expect(await ended(tasks, served, late.taskId)).toMatchObject({
      error: { message: expect.stringContaining('timed out') },
    });
    await until(served, async () => (await counts()).cancelled === 2);
    await settle();
  });
});
