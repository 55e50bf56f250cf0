import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JobCaps, LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { JobTaskOptions, Tasks } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { type Death, dyingAdapter, dyingStore, type Point } from '../../src/testing/adapters/dying.ts';
import { ManualClock } from '../../src/testing/index.ts';
import { type Fate, mortal } from '../../src/testing/mortal.ts';
import { pass, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';
import { busy, ScriptedService } from './scripted-service.ts';

type Caps = Partial<JobCaps> & { find?: boolean; derived?: boolean };

interface World {
  clock: ManualClock;
  service: ScriptedService;
  folder: string;
}

function world(): World {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return { clock: new ManualClock(), service: new ScriptedService(), folder: folder.path };
}

/** A process with a store of its own on the same file. It dies where it is told to, and nothing that it does arrives any more. */
function aProcess(
  { clock, service, folder }: World,
  caps: Caps,
  task: JobTaskOptions = {},
  point?: Point,
): Tasks & Fate {
  const backend = mortal(sqliteStore(join(folder, 'tasks.db')));
  const death: Death = {
    dead: false,
    kill() {
      death.dead = true;
      backend.kill();
    },
  };
  const { tasks } = someTasks({ store: dyingStore(backend, point, death), clock });
  onTestFinished(() => {
    backend.kill();
    void tasks.close();
  });
  tasks.registerJob('build', { task }, dyingAdapter(service.adapter(caps), point, death));
  return Object.assign(tasks, { kill: death.kill, freeze: backend.freeze, thaw: backend.thaw });
}

/** The job's task after its process died at a point, another took it over, and the job ended. */
async function afterDeathAt(point: Point, caps: Caps, task: JobTaskOptions = {}) {
  const here = world();
  const gone = aProcess(here, caps, task, point);
  const { taskId } = await start(gone, 'build');
  await settle(40);
  here.clock.advance(2_000); // For those that die at a later poll, or at the end.
  await settle(40);
  if (point.at === 'finish') {
    here.service.finish();
    await pass(here.clock, 10_000);
  }
  gone.kill();
  const survivor = aProcess(here, caps, task);
  await survivor.start();
  here.clock.advance(30_001);
  await survivor.engine.sweep();
  await settle(40);
  for (const job of here.service.jobs.values()) here.service.finish('done', job.id);
  for (let round = 0; round < 6; round += 1) await pass(here.clock, 10_000);
  const { state } = await survivor.engine.get(taskId, LOCAL_PRINCIPAL);
  return { ...here, state, attempt: (await survivor.inspect.get(taskId)).attempt };
}

const done = { status: 'completed', result: { content: [{ type: 'text', text: 'done' }] } };

const SURVIVED: Point[] = [
  { at: 'start', when: 'before' },
  { at: 'start', when: 'after' },
  { at: 'poll', when: 'before' },
  { at: 'poll', when: 'after' },
  { at: 'recordStep', nth: 1, when: 'before' },
  { at: 'recordStep', nth: 1, when: 'after' },
  { at: 'recordStep', nth: 2, when: 'before' },
  { at: 'recordStep', nth: 2, when: 'after' },
  { at: 'finish', nth: 1, when: 'before' },
  { at: 'finish', nth: 1, when: 'after' },
];

describe.each<[string, Caps]>([
  ['can be found by its key', { find: true }],
  ['starts once for a key', { idempotentStart: true }],
  ['starts once for a key, and can be found', { idempotentStart: true, find: true }],
  ['is known by its key, and starts once for it', { derived: true, idempotentStart: true }],
  ['is known by its key, and can be found', { derived: true, find: true }],
])('a job that %s', (_what, caps) => {
  it.each(SURVIVED)('is started once and told of, whose process dies at %o', async (point) => {
    const { state, service } = await afterDeathAt(point, caps);
    expect(state).toEqual(done);
    expect(service.jobs.size).toBe(1);
  });
});

describe('a job that can neither be found nor started twice', () => {
  const honest = {
    status: 'failed',
    error: {
      code: -32_603,
      message: expect.stringMatching(/^lost: .* It may or may not have taken effect.*onLost: 'rerun'/),
      data: { lost: true, mayHaveTakenEffect: true },
    },
  };

  it.each<Point>([
    { at: 'recordStep', nth: 1, when: 'after' },
    { at: 'start', when: 'before' },
    { at: 'start', when: 'after' },
    { at: 'recordStep', nth: 2, when: 'before' },
  ])('is lost, told so and not started again, whose process dies at %o', async (point) => {
    const { state, service } = await afterDeathAt(point, {});
    expect(state).toEqual(honest);
    expect(service.count('start')).toBeLessThanOrEqual(1);
  });

  it.each<Point>([
    { at: 'recordStep', nth: 1, when: 'before' },
    { at: 'recordStep', nth: 2, when: 'after' },
    { at: 'poll', when: 'after' },
    { at: 'finish', nth: 1, when: 'before' },
  ])('goes on all the same, whose process dies at %o', async (point) => {
    const { state, service } = await afterDeathAt(point, {});
    expect(state).toEqual(done);
    expect(service.jobs.size).toBe(1);
  });

  it('is started again, under another key, where its rule says so', async () => {
    const { state, service } = await afterDeathAt({ at: 'start', when: 'after' }, {}, { onLost: 'rerun' });
    expect(state).toEqual(done);
    expect(service.asked.filter(({ method }) => method === 'start').map(({ startNumber }) => startNumber)).toEqual([
      1, 2,
    ]);
    expect(new Set(service.byKey.keys()).size).toBe(2);
  });
});

describe('a start whose answer is lost', () => {
  const lost = { method: 'start', when: 'after', error: new Error('socket hang up') } as const;

  it.each<[string, Caps]>([
    ['the same job is found', { find: true }],
    ['the same start gives the same job', { idempotentStart: true }],
  ])('does no harm where %s', async (_why, caps) => {
    const here = world();
    const tasks = aProcess(here, caps);
    here.service.faults = [lost, lost].slice(0, caps.find === true ? 1 : 2);
    const { taskId } = await start(tasks, 'build');
    await settle();
    await pass(here.clock, 10_000);
    here.service.finish();
    await pass(here.clock, 10_000);
    await pass(here.clock, 10_000);
    expect((await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual(done);
    expect(here.service.jobs.size).toBe(1);
  });

  it('is a lost job elsewhere, and no second one', async () => {
    const here = world();
    const tasks = aProcess(here, {});
    here.service.faults = [lost];
    const { taskId } = await start(tasks, 'build');
    await settle();
    await pass(here.clock, 10_000);
    await pass(here.clock, 10_000);
    const { state } = await tasks.engine.get(taskId, LOCAL_PRINCIPAL);
    expect(state).toMatchObject({ status: 'failed', error: { data: { lost: true } } });
    expect(here.service.count('start')).toBe(1);
  });

  it('that certainly never arrived is made again', async () => {
    const here = world();
    const tasks = aProcess(here, {});
    here.service.faults = Array.from(
      { length: 3 },
      () => ({ method: 'start', when: 'before', error: busy() }) as const,
    );
    await start(tasks, 'build');
    await settle();
    for (let round = 0; round < 3; round += 1) await pass(here.clock, 10_000);
    expect(here.service.count('start')).toBe(4);
    expect(here.service.jobs.size).toBe(1);
  });
});

describe('processes that are lost one after the other', () => {
  it('use up none of the attempts of a job', async () => {
    const here = world();
    const first = aProcess(here, { find: true });
    const { taskId } = await start(first, 'build');
    await settle(40);
    let last = first;
    for (let death = 0; death < 6; death += 1) {
      last.kill();
      last = aProcess(here, { find: true });
      await last.start();
      here.clock.advance(30_001);
      await last.engine.sweep();
      await settle(40);
    }
    here.service.finish();
    for (let round = 0; round < 4; round += 1) await pass(here.clock, 10_000);
    expect((await last.engine.get(taskId, LOCAL_PRINCIPAL)).state).toEqual(done);
    expect(here.service.count('start')).toBe(1);
    expect((await last.inspect.get(taskId)).attempt).toBe(7);
  });
});
