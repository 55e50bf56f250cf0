import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  type ConnectedServer,
  callTool,
  openTaskClient,
  RemoteRefusedError,
  type TaskClient,
} from '../../src/client/index.ts';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import { type Tasks, type TasksOptions, text } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { serve } from '../server/peer.ts';
import { reaches, someTasks, start } from '../support/engine.ts';
import type { Json } from '../support/messages.ts';
import { scratchFolder } from '../support/stores.ts';
import { remoteOf } from './remotes.ts';
import { aRemoteTask, completed, ScriptedRemote } from './scripted-remote.ts';
import { pass, settled, unread } from './support.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const shown = (result: { content?: unknown }) => (result.content as { text: string }[])[0]?.text;

interface Site {
  tasks: Tasks;
  client: TaskClient;
  ci: ConnectedServer;
  clock: ManualClock;
  /** How often the parent's handler was begun. */
  begun: () => number;
  close: () => Promise<void>;
}

/** Tasks whose tools call another server, in files of a folder: made again on them, it is what comes after a restart. */
async function site(
  remote: ScriptedRemote,
  {
    clock = new ManualClock(),
    folder,
    ...options
  }: Partial<TasksOptions> & { clock?: ManualClock; folder?: string } = {},
): Promise<Site> {
  const path = folder ?? aFolder();
  const { tasks } = someTasks({ store: sqliteStore(join(path, 'tasks.db')), ...options, clock });
  const client = await openTaskClient({ journal: join(path, 'host.db'), clock, tasks });
  const ci = await client.connect('ci', { remote: () => remote });
  let begun = 0;
  tasks.registerTool('parent', { inputSchema: z.object({ tools: z.array(z.string()) }) }, async ({ tools }, task) => {
    begun += 1;
    const results = await Promise.all(tools.map((name) => callTool(task, ci, name, { from: 'parent' })));
    return text(results.map(shown).join(' and '));
  });
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), tasks[Symbol.asyncDispose]()]);
  };
  onTestFinished(close);
  return { tasks, client, ci, clock, begun: () => begun, close };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

/** A task of `parent`, and the one call that its handler has made. */
async function calling({ tasks }: Site, remote: ScriptedRemote, tool: string) {
  const task = await start(tasks, 'parent', { tools: [tool] });
  await remote.until('start', 1);
  return task;
}

const standing = async ({ tasks }: Site, taskId: string) => (await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state;

describe('a call that a handler makes', () => {
  it('gives its result to the handler, and to no inbox', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    const { taskId } = await calling(here, remote, 'check');
    expect(remote.asked[0]?.request).toMatchObject({ name: 'check', arguments: { from: 'parent' } });
    expect(JSON.stringify(remote.asked[0]?.request)).not.toContain(taskId); // Its id is nobody's business elsewhere.
    remote.finish('task-1', 'checked');
    await pass(here.clock, 2_000);
    await reaches(here.tasks, taskId, 'completed');
    expect(await standing(here, taskId)).toMatchObject({ result: { content: [{ text: 'checked' }] } });
    expect(await unread(here.client)).toEqual([]);
    expect(here.begun()).toBe(1);
  });

  it('may take days: its task is put away meanwhile, and goes on as soon as it is over', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    const { taskId } = await calling(here, remote, 'slow');
    const putAway = async () => {
      while ((await here.tasks.inspect.get(taskId)).runState !== 'ready') await pass(here.clock, 100);
      expect(await standing(here, taskId)).toMatchObject({ status: 'working' });
    };
    await pass(here.clock, 25_000, 1_000);
    await putAway();
    await pass(here.clock, 86_400_000, 60_000);
    await putAway();
    const begun = here.begun();
    expect(begun).toBeLessThan(200);
    remote.finish('task-1', 'at last');
    const before = here.clock.now();
    while ((await here.client.calls({ open: true })).length > 0) await pass(here.clock, 10_000, 5_000);
    await pass(here.clock, 5_000);
    expect(await standing(here, taskId)).toMatchObject({ result: { content: [{ text: 'at last' }] } });
    expect(here.clock.now() - before).toBeLessThan(3_700_000); // The client polled once an hour by then.
    expect(remote.runs).toBe(1);
  });

  it('is one of several at once, each made once', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote, { interruptRuns: true });
    const { taskId } = await start(here.tasks, 'parent', { tools: ['same', 'same', 'other'] });
    for (let round = 0; round < 10; round += 1) await pass(here.clock, 1_000);
    expect(remote.runs).toBe(3);
    for (const n of [3, 1, 2]) remote.finish(`task-${n}`, `${n}`);
    for (let round = 0; round < 30; round += 1) await pass(here.clock, 1_000);
    expect(await standing(here, taskId)).toMatchObject({ status: 'completed' });
    expect(remote.runs).toBe(3);
    expect(here.begun()).toBeGreaterThan(1);
  });

  it('is followed across restarts of its task, and not made again', async () => {
    const remote = new ScriptedRemote();
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await calling(first, remote, 'slow');
    await settled();
    await first.close();
    remote.finish('task-1', 'while nobody looked');
    const second = await site(remote, { folder, clock: first.clock });
    await pass(first.clock, 3_000);
    await reaches(second.tasks, taskId, 'completed');
    expect(await standing(second, taskId)).toMatchObject({ result: { content: [{ text: 'while nobody looked' }] } });
    expect([remote.runs, remote.count('start')]).toEqual([1, 1]);
  });

  it('throws the error of the call into the handler', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    const { taskId } = await calling(here, remote, 'x');
    remote.change('task-1', {
      status: 'failed',
      outcome: { status: 'failed', error: { code: -32_050, message: 'no such branch' } },
    });
    await pass(here.clock, 2_000);
    await reaches(here.tasks, taskId, 'failed');
    expect(await standing(here, taskId)).toMatchObject({ error: { message: 'no such branch' } });
  });

  it.each([
    ['while its handler waits', 1_000],
    ['while its task is put away', 60_000],
  ])('is cancelled with its task, %s', async (_when, ms) => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    const { taskId } = await calling(here, remote, 'x');
    await pass(here.clock, ms, 1_000);
    await here.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'not needed');
    await remote.until('cancel', 1);
    await settled();
    expect((await here.client.calls())[0]?.state.end).toMatchObject({ kind: 'cancelled' });
  });

  it('is cancelled when its task was cancelled while nobody was there', async () => {
    const remote = new ScriptedRemote();
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await calling(first, remote, 'x');
    await pass(first.clock, 60_000, 1_000);
    await first.client.close();
    await first.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'not needed');
    await first.close();
    await site(remote, { folder, clock: first.clock });
    await remote.until('cancel', 1);
  });

  it('carries the trace of the request that made its task', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    const tool = here.tasks.tools.find(({ name }) => name === 'parent');
    if (tool === undefined) throw new Error('no tool');
    await here.tasks.engine.create({
      definition: tool.definition,
      principal: LOCAL_PRINCIPAL,
      input: { tools: ['x'] },
      revision: '2026-07-28',
      abilities: { form: true },
      traceparent: TRACE,
    });
    await remote.until('start', 1);
    expect(remote.asked[0]?.request?.traceparent).toBe(TRACE);
  });

  it('needs a client that knows the tasks', async () => {
    const remote = new ScriptedRemote();
    const { tasks, clock } = someTasks();
    const client = await openTaskClient({ journal: ':memory:', clock });
    const ci = await client.connect('ci', { remote: () => remote });
    onTestFinished(() => client.close());
    tasks.registerTool('parent', {}, async (_args, task) => text(shown(await callTool(task, ci, 'x')) ?? ''));
    const { taskId } = await start(tasks, 'parent');
    await reaches(tasks, taskId, 'failed');
    expect(remote.count('start')).toBe(0);
  });

  it('needs a client that knows its task, and not only some', async () => {
    const remote = new ScriptedRemote();
    const { tasks: others } = someTasks();
    const { tasks, clock } = someTasks();
    onTestFinished(() => others[Symbol.asyncDispose]());
    onTestFinished(() => tasks[Symbol.asyncDispose]());
    const client = await openTaskClient({ journal: ':memory:', clock, tasks: others });
    onTestFinished(() => client.close());
    const ci = await client.connect('ci', { remote: () => remote });
    tasks.registerTool('parent', {}, async (_args, task) => text(shown(await callTool(task, ci, 'x')) ?? ''));
    const { taskId } = await start(tasks, 'parent');
    await reaches(tasks, taskId, 'failed');
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({ error: { message: expect.stringContaining('none of `tasks`') } });
    expect(remote.count('start')).toBe(0);
  });
});

describe('what such a call asks', () => {
  const form = { kind: 'form', message: 'Which branch?', schema: { type: 'object', properties: {} } } as const;

  async function asking(remote: ScriptedRemote, options: Parameters<typeof site>[1] = {}) {
    const here = await site(remote, options);
    const { taskId } = await calling(here, remote, 'x');
    remote.change('task-1', { status: 'input_required', questions: new Map([['branch', form]]) });
    await pass(here.clock, 2_000);
    return { here, taskId };
  }

  const openOf = async ({ tasks }: Site, taskId: string) => {
    const open = await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL);
    return [...open].map(([key, question]) => ({ key, question }));
  };

  it('is asked by its task, naming it, and answered there', async () => {
    const remote = new ScriptedRemote();
    const { here, taskId } = await asking(remote);
    await reaches(here.tasks, taskId, 'input_required');
    const [asked] = await openOf(here, taskId);
    expect(asked?.question).toMatchObject({ kind: 'form', message: 'scripted server, ci/x asks: Which branch?' });
    const answer = { action: 'accept', content: { branch: 'main' } } as const;
    await here.tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[asked?.key ?? '', answer]]));
    await remote.until('answer', 1);
    expect(remote.answers).toEqual([{ branch: answer }]);
    remote.finish('task-1');
    await pass(here.clock, 5_000);
    await reaches(here.tasks, taskId, 'completed');
  });

  it('is asked also when its task was put away long ago, and answered after a restart', async () => {
    const remote = new ScriptedRemote();
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await calling(first, remote, 'x');
    await pass(first.clock, 300_000, 1_000);
    remote.change('task-1', { status: 'input_required', questions: new Map([['branch', form]]) });
    await pass(first.clock, 120_000, 1_000);
    const [asked] = await openOf(first, taskId);
    await first.close();
    const second = await site(remote, { folder, clock: first.clock });
    await pass(second.clock, 30_000, 1_000);
    expect(await openOf(second, taskId)).toEqual([asked]);
    await second.tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[asked?.key ?? '', { action: 'decline' }]]));
    // The client knows what the call asks once it has polled, which is seldom by now.
    while (remote.count('answer') === 0) await pass(second.clock, 1_000);
    expect(remote.answers).toEqual([{ branch: { action: 'decline' } }]);
  });

  it('is taken back where the call takes it back', async () => {
    const remote = new ScriptedRemote();
    const { here, taskId } = await asking(remote);
    await reaches(here.tasks, taskId, 'input_required');
    remote.change('task-1', { status: 'working', questions: new Map() });
    await pass(here.clock, 3_000);
    expect(await standing(here, taskId)).toMatchObject({ status: 'working' });
    expect(remote.count('answer')).toBe(0);
  });

  it('is called off where nobody can be asked', async () => {
    const remote = new ScriptedRemote();
    const here = await site(remote);
    await start(here.tasks, 'parent', { tools: ['x'] }, { form: false });
    await remote.until('start', 1);
    remote.change('task-1', { status: 'input_required', questions: new Map([['branch', form]]) });
    await pass(here.clock, 2_000);
    await remote.until('answer', 1);
    expect(remote.answers).toEqual([{ branch: { action: 'cancel' } }]);
  });
});

describe('a call that a tool makes that is never a task', () => {
  it('lives with its request', async () => {
    const remote = new ScriptedRemote();
    remote.onStart = () => ({ kind: 'task', task: remote.task('task-1') });
    const clock = new ManualClock();
    const client = await openTaskClient({ journal: ':memory:', clock });
    onTestFinished(() => client.close());
    const ci = await client.connect('ci', { remote: () => remote });
    const served = serve(
      (tasks) => {
        tasks.registerTool('inline', { task: { support: 'forbidden' } }, async (_args, task) => {
          return text(shown(await callTool(task, ci, 'x')) ?? '');
        });
      },
      { tasks: { clock } },
    );
    remote.tasks.set('task-1', aRemoteTask({ status: 'completed', outcome: completed('done') }));
    const outer = await remoteOf(served);
    const calling = outer.start({ name: 'inline', arguments: {}, idempotencyKey: 'k' });
    await pass(clock, 2_000);
    expect(await calling).toMatchObject({ outcome: { result: { content: [{ text: 'done' }] } } });
    remote.onStart = () => {
      throw new RemoteRefusedError({ code: -32_602, message: 'no tool x' });
    };
    const failing = outer.start({ name: 'inline', arguments: {}, idempotencyKey: 'k2' });
    await pass(clock, 2_000);
    expect(await failing).toMatchObject({ outcome: { result: { isError: true } } });
    // Its handler was told, however it ended: nothing is left for an inbox.
    expect(await unread(client)).toEqual([]);
  });
});

describe.each(['2026-07-28', '2025-11-25', '2025-06-18'])('a call that is part of a trace, in %s', (protocol) => {
  it('says so to its server', async () => {
    const served = serve((tasks) => void tasks.registerTool('quick', {}, () => text('done')));
    const sent: Request[] = [];
    const remote = await remoteOf(served, { protocol, sent });
    await remote.start({ name: 'quick', arguments: {}, idempotencyKey: 'k', traceparent: TRACE });
    const bodies = await Promise.all(
      sent.filter(({ method }) => method === 'POST').map(async (request) => (await request.json()) as Json),
    );
    const call = bodies.find(({ method }) => method === 'tools/call');
    expect(call?.['params']).toMatchObject({ _meta: { traceparent: TRACE } });
  });
});
