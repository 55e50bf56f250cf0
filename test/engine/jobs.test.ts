import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, type JobCaps, type JobLogLine, LOCAL_PRINCIPAL, type Question } from '../../src/core/index.ts';
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

type JobSite = NonNullable<SiteOptions['caps']>;

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

const FORM = {
  kind: 'form',
  message: 'Go on?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
} as const satisfies Question;

const openOf = async ({ tasks }: Site, taskId: string): Promise<Question[]> => [
  ...(await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL)).values(),
];

async function answer({ tasks }: Site, taskId: string, given: Answer): Promise<void> {
  const [key = ''] = [...(await tasks.engine.openQuestions(taskId, LOCAL_PRINCIPAL)).keys()];
  await tasks.engine.answer(taskId, LOCAL_PRINCIPAL, new Map([[key, given]]));
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
    while ((await here.tasks.inspect.get(taskId)).runState !== 'ready') await wait(here, 1_000); // It is being looked at.
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
    await wait(here, 100_000);
    await wait(here, 1_000);
    expect((await here.tasks.engine.get(taskId, LOCAL_PRINCIPAL)).statusMessage).toBe('working');
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

describe('a service that refuses a start for so long that the task is put away', () => {
  const refusals = (count: number) =>
    Array.from({ length: count }, () => ({ method: 'start', when: 'before', error: busy(60_000) }) as const);

  it('is asked again all the same: nobody doubts that nothing was started', async () => {
    const here = site();
    here.service.faults = refusals(3);
    const { taskId } = await start(here.tasks, 'build');
    await wait(here, 300_000);
    expect([here.service.count('start'), here.service.jobs.size]).toEqual([4, 1]);
    here.service.finish();
    await wait(here, 60_000);
    await reaches(here.tasks, taskId, 'completed');
  });

  it('and breaks off the next one leaves it in doubt, also for whoever goes on', async () => {
    const here = site();
    here.service.faults = [...refusals(1), { method: 'start', when: 'after', error: new Error('socket hang up') }];
    const { taskId } = await start(here.tasks, 'build');
    await wait(here, 300_000);
    await reaches(here.tasks, taskId, 'failed');
    expect(await standing(here, taskId)).toMatchObject({ error: { data: { lost: true } } });
    expect(here.service.count('start')).toBe(2);
  });
});

describe('a service that is slowly consistent', () => {
  it('may show a question, take it back and show it again: it is asked again, and answered once', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.ask({ go: FORM });
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'input_required');
    here.service.set({ state: 'working' });
    await wait(here, 10_000);
    await reaches(here.tasks, taskId, 'working');
    here.service.ask({ go: FORM });
    await wait(here, 10_000);
    await reaches(here.tasks, taskId, 'input_required');
    await answer(here, taskId, { action: 'accept', content: { ok: true } });
    await here.service.until('answer');
    await wait(here, 40_000); // It goes on showing the question that it has the answer to.
    expect(here.service.job().answers).toEqual({ go: [{ action: 'accept', content: { ok: true } }] });
    here.service.finish();
    await wait(here, 40_000);
    await reaches(here.tasks, taskId, 'completed');
  });

  it('may not find a job yet that was started: nothing else is started meanwhile', async () => {
    const folder = aFolder();
    const service = new ScriptedService();
    const first = site({ service, folder, caps: { find: true } });
    service.onRequest = (method) => (method === 'poll' ? first.close() : undefined);
    const { taskId } = await start(first.tasks, 'build');
    await service.until('poll');
    await settle();
    expect(service.jobs.size).toBe(1);
    service.onRequest = () => {};
    const second = site({ service, folder, clock: first.clock, caps: { find: true } });
    await second.tasks.start();
    await wait(second, 2_000);
    service.finish();
    await wait(second, 5_000);
    await reaches(second.tasks, taskId, 'completed');
    expect([service.jobs.size, service.count('start')]).toEqual([1, 1]);
  });
});

describe('what a job asks', () => {
  it('is asked by its task, and the answer handed over', async () => {
    const here = site({ task: { origin: 'the build service' } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.ask({ go: FORM });
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'input_required');
    const [asked] = await openOf(here, taskId);
    expect(asked).toMatchObject({ kind: 'form', message: 'the build service asks: Go on?' });
    await answer(here, taskId, { action: 'decline' });
    await here.service.until('answer');
    await settle();
    expect(here.service.job().answers).toEqual({ go: [{ action: 'decline' }] });
  });

  it.each(['before', 'after'] as const)(
    'is handed over again where the answer was lost %s it arrived',
    async (when) => {
      const here = site();
      const { taskId } = await start(here.tasks, 'build');
      await here.service.until('poll');
      here.service.ask({ go: FORM });
      await wait(here, 5_000);
      here.service.faults = [{ method: 'answer', when, error: new Error('socket hang up') }];
      await answer(here, taskId, { action: 'cancel' });
      await here.service.until('answer');
      await wait(here, 10_000);
      await here.service.until('answer', 2);
      await wait(here, 40_000);
      expect(here.service.count('answer')).toBe(2);
    },
  );

  it('keeps its answer across a restart before it was handed over', async () => {
    const folder = aFolder();
    const first = site({ folder });
    const { service, clock } = first;
    const { taskId } = await start(first.tasks, 'build');
    await service.until('poll');
    service.ask({ go: FORM });
    await wait(first, 600_000);
    service.onRequest = (method) => (method === 'answer' ? new Promise(() => {}) : undefined);
    await answer(first, taskId, { action: 'accept', content: { ok: true } });
    await service.until('answer');
    void first.close();
    await settle();
    service.onRequest = () => {};
    const second = site({ service, folder, clock });
    await second.tasks.start();
    for (let round = 0; round < 4; round += 1) await wait(second, 30_000);
    expect(service.job().answers).toEqual({ go: [{ action: 'accept', content: { ok: true } }] });
    expect(await openOf(second, taskId)).toEqual([]);
  });

  it('is called off where nobody can be asked', async () => {
    const here = site();
    await start(here.tasks, 'build', {}, { form: false });
    await here.service.until('poll');
    here.service.ask({ go: FORM });
    await wait(here, 5_000);
    await here.service.until('answer');
    await settle();
    expect(here.service.job().answers).toEqual({ go: [{ action: 'cancel' }] });
  });
});

describe('the log of a job', () => {
  const lines = async ({ tasks }: Site, taskId: string) =>
    (await tasks.inspect.readLog(taskId)).lines.map(({ text }) => text);

  it('is in the log of its task while it runs, and whole once it is over', async () => {
    const here = site({ caps: { logs: 'live' } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.job().lines.push('one', 'two');
    await wait(here, 5_000);
    expect(await lines(here, taskId)).toEqual(['one', 'two']);
    here.service.job().lines.push('three', 'four', 'five', 'six', 'seven');
    here.service.faults = [{ method: 'logs', when: 'before', error: busy() }];
    here.service.finish();
    await wait(here, 5_000);
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'completed');
    const all = await lines(here, taskId);
    expect(all.filter((line) => !line.includes('could not be asked'))).toEqual([
      'one',
      'two',
      'three',
      'four',
      'five',
      'six',
      'seven',
    ]);
  });

  it('keeps time, level and stream of every line, and its text as it was written', async () => {
    const here = site({ caps: { logs: 'live' } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    const written: JobLogLine[] = [
      { text: '\u001b[31mFAIL\u001b[39m one\r\u0007', at: 17, stream: 'stdout' },
      { text: 'NUL \u0000', level: 'warning', at: 18, stream: 'stderr' },
      { text: 'of its own', at: 19 },
    ];
    here.service.job().lines.push(...written);
    await wait(here, 5_000);
    expect((await here.tasks.inspect.readLog(taskId)).lines).toEqual(
      written.map((line) => ({ level: 'info', ...line })),
    );
  });

  it('is read on where it was read to, across restarts', async () => {
    const folder = aFolder();
    const first = site({ folder, caps: { logs: 'live' } });
    const { service, clock } = first;
    const { taskId } = await start(first.tasks, 'build');
    await service.until('poll');
    service.job().lines.push('one', 'two', 'three', 'four');
    await wait(first, 5_000);
    await first.close();
    const second = site({ service, folder, clock, caps: { logs: 'live' } });
    await second.tasks.start();
    service.job().lines.push('five');
    await wait(second, 600_000);
    service.job().lines.push('six');
    await wait(second, 60_000);
    expect(await lines(second, taskId)).toEqual(['one', 'two', 'three', 'four', 'five', 'six']);
  });

  it('is read once it is over, where it can be read no sooner', async () => {
    const here = site({ caps: { logs: 'final' } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.job().lines.push('one', 'two', 'three', 'four');
    await wait(here, 5_000);
    expect(here.service.count('logs')).toBe(0);
    here.service.finish();
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'completed');
    expect(await lines(here, taskId)).toEqual(['one', 'two', 'three', 'four']);
  });
});

describe('a job that was lost', () => {
  it('fails its task, which says what is known and what is not', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.jobs.clear();
    await wait(here, 5_000);
    await reaches(here.tasks, taskId, 'failed');
    expect(await standing(here, taskId)).toEqual({
      status: 'failed',
      error: {
        code: -32_603,
        message:
          'lost: the service does not know it (404). It may or may not have taken effect, and it was not called again; the ' +
          "tool's option onLost: 'rerun' would do that.",
        data: { lost: true, mayHaveTakenEffect: true },
      },
    });
  });

  it('is started again where the rule says so, as often as it says', async () => {
    const here = site({ task: { onLost: 'rerun', maxAttempts: 2 } });
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    here.service.jobs.clear();
    await wait(here, 5_000);
    await here.service.until('start', 2);
    await wait(here, 600_000); // Also put away, it knows which start it is at.
    here.service.jobs.clear();
    await wait(here, 60_000);
    await reaches(here.tasks, taskId, 'failed');
    expect(here.service.count('start')).toBe(2);
    expect(await standing(here, taskId)).toMatchObject({
      error: { message: expect.stringContaining('that was its last attempt (maxAttempts)') },
    });
  });
});

describe('a tool that is taken out', () => {
  it('finishes the tasks it has, also those that were put away', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    await wait(here, 600_000);
    expect(here.tasks.removeTool('build')).toBe(true);
    expect(here.tasks.tools).toEqual([]);
    here.service.finish();
    await wait(here, 60_000);
    await reaches(here.tasks, taskId, 'completed');
    expect(here.tasks.removeTool('build')).toBe(false);
  });

  it('can be replaced, and what takes its place goes on with its tasks', async () => {
    const here = site();
    const { taskId } = await start(here.tasks, 'build');
    await here.service.until('poll');
    await wait(here, 600_000);
    here.tasks.removeTool('build');
    const moved = new ScriptedService();
    for (const [ref, job] of here.service.jobs) moved.jobs.set(ref, job);
    here.tasks.registerJob('build', {}, moved.adapter());
    moved.finish();
    await wait(here, 60_000);
    await reaches(here.tasks, taskId, 'completed');
    expect([moved.count('start'), moved.count('poll')]).toEqual([0, 1]);
    expect(() => here.tasks.registerJob('build', {}, moved.adapter())).toThrow('registered already');
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

  it.each<[string, JobSite]>([
    ['that its record names', {}],
    ['that its key names', { derived: true, idempotentStart: true }],
  ])('while no process ran cancels the job %s as soon as one does', async (_which, caps) => {
    const folder = aFolder();
    const first = site({ folder, caps });
    const { service, clock } = first;
    const { taskId } = await start(first.tasks, 'build');
    await service.until('poll');
    await settle();
    await first.close();
    const { tasks: others } = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), clock });
    await others.engine.cancel(taskId, LOCAL_PRINCIPAL, 'not needed');
    await others.close();
    service.faults = [{ method: 'cancel', when: 'before', error: busy() }];
    const second = site({ service, folder, clock, caps });
    await second.tasks.start();
    await service.until('cancel');
    await wait(second, 5_000);
    await service.until('cancel', 2);
    await settle();
    expect(service.job().cancelled).toBe(true);
    expect(service.count('start')).toBe(1);
  });

  it('that its job had brought about has nothing cancelled by who comes next', async () => {
    const folder = aFolder();
    const first = site({ folder });
    const { service, clock } = first;
    const { taskId } = await start(first.tasks, 'build');
    await service.until('poll');
    service.set({ state: 'cancelled' });
    await wait(first, 5_000);
    await reaches(first.tasks, taskId, 'cancelled');
    await first.close();
    const second = site({ service, folder, clock });
    await second.tasks.start();
    await wait(second, 5_000);
    expect(service.count('cancel')).toBe(0);
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

describe('a job that uses up its own machine', () => {
  const running = ({ service }: Site) =>
    [...service.jobs.values()].filter(({ snapshot }) => snapshot.state === 'working' || snapshot.state === 'input')
      .length;

  it('keeps its slot however long it works, so that no more of them run at once than may', async () => {
    const here = site({ caps: { keepsSlot: true }, task: { concurrency: 2 } });
    for (const n of [1, 2, 3, 4]) await start(here.tasks, 'build', { n });
    await here.service.until('start', 2);
    for (let minutes = 0; minutes < 120; minutes += 1) await wait(here, 60_000);
    expect(running(here)).toBe(2);
    here.service.finish('done', [...here.service.jobs.keys()][0]);
    await wait(here, 60_000);
    await here.service.until('start', 3);
    expect(running(here)).toBe(2);
  });

  it('gives it back while it is asked: people take their time', async () => {
    const here = site({ caps: { keepsSlot: true }, task: { concurrency: 1 } });
    await start(here.tasks, 'build', {});
    await here.service.until('start');
    here.service.ask({ q: FORM });
    await start(here.tasks, 'build', {});
    for (let n = 0; n < 20; n += 1) await wait(here, 10_000);
    expect(here.service.count('start')).toBe(2);
  });

  it('is handed over at once by a process that stops, where it needs nothing of it', async () => {
    const here = site({ caps: { survives: true, idempotentStart: true } });
    await start(here.tasks, 'build', {});
    await here.service.until('poll');
    await settle();
    await here.tasks.close({ drainMs: 60_000 }); // The clock stands still: it waits for nothing.
    expect(here.service.job().snapshot).toEqual({ state: 'working' });
    expect(here.service.count('cancel')).toBe(0);
  });
});
