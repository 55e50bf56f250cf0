import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mcpTool } from '../../src/adapters/index.ts';
import { openTaskClient, type Remote, RemoteRefusedError, type TaskClient } from '../../src/client/index.ts';
import { LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { JobTaskOptions, Tasks } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { ScriptedRemote } from '../client/scripted-remote.ts';
import { pass } from '../client/support.ts';
import { reaches, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';

interface Site {
  tasks: Tasks;
  client: TaskClient;
  clock: ManualClock;
  close: () => Promise<void>;
}

/** A tool of another server in front of its callers, in files of a folder: made again on them, it is what comes after a restart. */
async function site(
  remote: Remote,
  {
    clock = new ManualClock(),
    folder = aFolder(),
    task = {},
  }: { clock?: ManualClock; folder?: string; task?: JobTaskOptions } = {},
): Promise<Site> {
  const { tasks } = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), clock });
  const client = await openTaskClient({ journal: join(folder, 'calls.db'), clock, tasks });
  const server = await client.connect('upstream', { remote: () => Promise.resolve(remote) });
  tasks.registerJob('up_build', { task }, mcpTool({ server: () => server, tool: 'build' }));
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), tasks.close()]);
  };
  onTestFinished(close);
  return { tasks, client, clock, close };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const standing = async ({ tasks }: Site, taskId: string) => (await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state;

describe('a tool of another server', () => {
  it('is called once, with the arguments as they came, and its result goes out as it is', async () => {
    const remote = new ScriptedRemote();
    const result = { content: [{ type: 'hologram' }], _meta: { 'x.test/a': [1] }, later: { y: null } };
    remote.onStart = () => ({ kind: 'immediate', outcome: { status: 'completed', result } });
    const here = await site(remote);
    const { taskId } = await start(here.tasks, 'up_build', { n: 1, deep: { list: [null] } });
    await reaches(here.tasks, taskId, 'completed');
    expect(remote.asked[0]?.request).toMatchObject({ name: 'build', arguments: { n: 1, deep: { list: [null] } } });
    expect(await standing(here, taskId)).toEqual({ status: 'completed', result });
    expect(remote.runs).toBe(0);
  });

  it.each(['failed', 'refused'] as const)('that %s fails the task with the same error', async (how) => {
    const remote = new ScriptedRemote();
    const error = { code: -32_042, message: 'not on Sundays', data: { until: 'Monday' } };
    remote.onStart = () => {
      if (how === 'refused') throw new RemoteRefusedError(error);
      return { kind: 'immediate', outcome: { status: 'failed', error } };
    };
    const here = await site(remote);
    const { taskId } = await start(here.tasks, 'up_build');
    await reaches(here.tasks, taskId, 'failed');
    expect(await standing(here, taskId)).toEqual({ status: 'failed', error });
  });

  it('goes on across a restart of everything, is not called again, and its end comes through', async () => {
    const remote = new ScriptedRemote();
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await start(first.tasks, 'up_build');
    await remote.until('start', 1);
    await pass(first.clock, 1_000);
    await first.close();
    remote.finish('task-1', 'meanwhile');
    const second = await site(remote, { folder, clock: first.clock });
    await pass(first.clock, 5_000);
    await reaches(second.tasks, taskId, 'completed');
    expect(await standing(second, taskId)).toMatchObject({ result: { content: [{ text: 'meanwhile' }] } });
    expect([remote.runs, remote.count('start')]).toEqual([1, 1]);
  });

  it('is forgotten after a while, also where the process died that had it', async () => {
    const remote = new ScriptedRemote();
    remote.onStart = () => ({ kind: 'immediate', outcome: { status: 'completed', result: { content: [] } } });
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await start(first.tasks, 'up_build');
    await reaches(first.tasks, taskId, 'completed');
    await first.close();
    // As if the process had died before it could say that it has the end.
    const journal = new Database(join(folder, 'calls.db'));
    expect(journal.prepare('update endings set acknowledged_at = null').run().changes).toBe(1);
    journal.close();
    const second = await site(remote, { folder, clock: first.clock });
    await pass(second.clock, 130_000, 5_000);
    await pass(second.clock, 25 * 3_600_000, 600_000);
    expect(await second.client.calls()).toEqual([]);
  });

  it('costs one record where the call is, and none where its task is', async () => {
    const remote = new ScriptedRemote();
    remote.onStart = () => ({ kind: 'immediate', outcome: { status: 'completed', result: { content: [] } } });
    const here = await site(remote);
    const { taskId } = await start(here.tasks, 'up_build');
    await reaches(here.tasks, taskId, 'completed');
    const types = (await here.tasks.inspect.timeline(taskId)).map(({ type }) => type);
    expect(types).toEqual(['created', 'claimed', 'completed']);
  });

  it('that knows nothing of idempotency is told to be lost, and not called again, where its answer was lost', async () => {
    const remote = new ScriptedRemote();
    remote.repeatable = false;
    remote.onStart = () => new Promise(() => {});
    const folder = aFolder();
    const first = await site(remote, { folder });
    const { taskId } = await start(first.tasks, 'up_build');
    await remote.until('start', 1);
    await first.close();
    const second = await site(remote, { folder, clock: first.clock });
    await pass(first.clock, 5_000);
    await reaches(second.tasks, taskId, 'failed');
    expect(await standing(second, taskId)).toMatchObject({
      error: { message: expect.stringMatching(/^lost: .*may or may not have taken effect.*onLost: 'rerun'/) },
    });
    expect(remote.count('start')).toBe(1);
  });

  it('is called again in the same case where its rule says so', async () => {
    const remote = new ScriptedRemote();
    remote.repeatable = false;
    remote.onStart = () => new Promise(() => {});
    const folder = aFolder();
    const first = await site(remote, { folder, task: { onLost: 'rerun' } });
    const { taskId } = await start(first.tasks, 'up_build');
    await remote.until('start', 1);
    await first.close();
    remote.onStart = () => ({ kind: 'immediate', outcome: { status: 'completed', result: { content: [] } } });
    const second = await site(remote, { folder, clock: first.clock, task: { onLost: 'rerun' } });
    await pass(first.clock, 5_000);
    await reaches(second.tasks, taskId, 'completed');
    expect(remote.count('start')).toBe(2);
    expect(new Set(remote.asked.map(({ request }) => request?.idempotencyKey)).size).toBe(2);
  });
});
