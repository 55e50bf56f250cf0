import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JobCaps, LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { JobTaskOptions, Tasks, TasksOptions } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { pass, reaches, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';
import { busy, ScriptedService } from './scripted-service.ts';

interface Site {
  tasks: Tasks;
  clock: ManualClock;
  service: ScriptedService;
  close: () => Promise<void>;
}

interface SiteOptions extends Partial<TasksOptions> {
  service?: ScriptedService;
  folder?: string;
  clock?: ManualClock;
  caps?: Partial<JobCaps> & { find?: boolean; derived?: boolean };
  task?: JobTaskOptions;
}

/** Tasks whose one tool is a job of a service, in a file of a folder: made again on it, it is what comes after a restart. */
function site({
  service = new ScriptedService(),
  folder = aFolder(),
  caps = {},
  task = {},
  ...rest
}: SiteOptions = {}): Site {
  const { tasks, clock } = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), ...rest });
  tasks.registerJob('build', { task }, service.adapter(caps));
  const close = (): Promise<void> => tasks.close();
  onTestFinished(close);
  return { tasks, clock, service, close };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

/** Lets what is under way happen, and then time pass. */
async function wait({ clock }: Site, ms: number): Promise<void> {
  await settle();
  await pass(clock, ms);
}

const standing = async ({ tasks }: Site, taskId: string) => (await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state;

describe('a job', () => {
  it('gives its result to the task as it is, whatever the blocks in it', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build', { target: 'all' });
    await here.service.until('poll');
    expect(here.service.job().args).toEqual({ target: 'all' });
    const result = { content: [{ type: 'hologram', depth: 3 }], _meta: { 'x.test/id': 1 }, isError: true, extra: null };
    here.service.set({ state: 'done', outcome: 'error', result });
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'completed');
    expect(await standing(here, taskId)).toEqual({ status: 'completed', result });
    await here.service.until('release');
    expect(here.service.count('cancel')).toBe(0);
  });

  it('fails its task with the error that its service answered with, unchanged', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    const error = { code: -32_050, message: 'no such branch', data: { branch: 'x' } };
    here.service.set({ state: 'done', outcome: 'error', error });
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'failed');
    expect(await standing(here, taskId)).toEqual({ status: 'failed', error });
  });

  it('ends its task as cancelled where it was cancelled itself', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.set({ state: 'cancelled', message: 'by an operator' });
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'cancelled');
    expect(await standing(here, taskId)).toEqual({ status: 'cancelled', reason: 'by an operator' });
  });

  it('tells of its progress and what it says', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.set({ state: 'working', progress: { progress: 3, total: 10 }, message: 'linking' });
    await wait(here, 5_000);
    await wait(here, 1_000);
    const { progress } = await here.tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(progress).toEqual({ progress: 3, total: 10, message: 'linking' });
  });

  it('is polled more seldom as it grows older, puts its task away and is not started again', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await wait(here, 600_000);
    expect((await here.tasks.inspect.get(taskId)).runState).toBe('ready');
    const polled = here.service.count('poll');
    expect(polled).toBeLessThan(60);
    expect(here.service.count('start')).toBe(1);
    here.service.finish('at last');
    await wait(here, 40_000);
    expect(await standing(here, taskId)).toMatchObject({ result: { content: [{ text: 'at last' }] } });
  });

  it('is looked at as soon as it tells of news', async () => {
    const here = site({ caps: { push: true } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    await settle();
    here.service.finish();
    await reaches(here.tasks, taskId, 'completed'); // Without a tick of the clock.
  });

  it('is given a key that tells nothing of its task', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    const { key } = here.service.asked[0] ?? { key: '' };
    expect(key).toMatch(/^[A-Za-z0-9_-]{24}$/);
    expect(key).not.toContain(taskId.slice(0, 8));
  });
});

describe('a service that has trouble', () => {
  it('is left alone as long as it asks for, and asked again as long as the task has time', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.faults = Array.from({ length: 4 }, () => ({ method: 'poll', when: 'before', error: busy(60_000) }));
    await wait(here, 200_000);
    expect(here.service.count('poll')).toBeLessThanOrEqual(5);
    const { statusMessage } = await here.tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(statusMessage).toBe('service cannot be reached; trying again');
    here.service.finish();
    await wait(here, 200_000);
    await reaches(here.tasks, taskId, 'completed');
  });

  it('that refused a start for now is asked again', async () => {
    const here = site();
    here.service.faults = [{ method: 'start', when: 'before', error: busy(5_000) }];
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('start');
    await wait(here, 10_000);
    here.service.finish();
    await wait(here, 10_000);
    await reaches(here.tasks, taskId, 'completed');
    expect(here.service.jobs.size).toBe(1);
  });
});

describe('the end of a task', () => {
  it.each([
    ['while its handler waits', 2_000],
    ['while it is put away', 600_000],
  ])('cancels its job, %s', async (_when, ms) => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    await wait(here, ms);
    here.service.faults = [{ method: 'cancel', when: 'before', error: busy() }];
    await here.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL, 'not needed');
    await here.service.until('cancel');
    await wait(here, 3_000);
    await here.service.until('cancel', 2);
    await settle();
    expect(here.service.job().cancelled).toBe(true);
  });

  it('comes when the job takes longer than its tool allows, and cancels the job', async () => {
    const here = site({ task: { timeoutMs: 300_000 } });
    const { taskId } = await start(here.tasks, 'build');
    await wait(here, 290_000);
    expect(await standing(here, taskId)).toMatchObject({ status: 'working' });
    await wait(here, 20_000);
    expect(await standing(here, taskId)).toMatchObject({
      error: { message: "timed out: service took longer than the tool's limit (timeoutMs) of 300000 ms" },
    });
    await here.service.until('cancel');
  });
});
