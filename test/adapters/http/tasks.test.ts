import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { HttpToolOptions } from '../../../src/adapters/http/options.ts';
import { httpTool } from '../../../src/adapters/index.ts';
import { LOCAL_PRINCIPAL } from '../../../src/core/index.ts';
import type { JobTaskOptions, Tasks } from '../../../src/engine/index.ts';
import { sqliteStore } from '../../../src/store/index.ts';
import { ManualClock } from '../../../src/testing/index.ts';
import { CiService } from '../../fakes/ci-service.ts';
import type { FakeService } from '../../fakes/fake-service.ts';
import { GenericService } from '../../fakes/generic-service.ts';
import { pass, reaches, settle, someTasks, start } from '../../support/engine.ts';
import { scratchFolder } from '../../support/stores.ts';
import { serving } from './support.ts';

interface Site {
  tasks: Tasks;
  clock: ManualClock;
  folder: string;
}

/** A tool of an API in front of its callers; made again on the same folder, it is what comes after a restart. */
function site(
  options: HttpToolOptions,
  { clock, folder = aFolder(), task = {} }: { clock: ManualClock; folder?: string; task?: JobTaskOptions },
): Site {
  const { tasks } = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), clock });
  tasks.registerJob('build', { task }, httpTool(options));
  onTestFinished(() => tasks.close());
  return { tasks, clock, folder };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const standing = async ({ tasks }: Site, taskId: string) => (await tasks.engine.get(taskId, LOCAL_PRINCIPAL)).state;

/** Lets time pass second by second until the service was asked that often, with its answers on their way between. */
async function passUntil(clock: ManualClock, service: FakeService, about: string, count: number): Promise<void> {
  for (let tries = 0; service.about(about).length < count; tries += 1) {
    if (tries > 2_000) throw new Error(`only ${service.about(about).length} of ${count} requests about ${about}`);
    clock.advance(1_000);
    await breathe();
  }
}

/** Sockets take turns of their own, which no clock moves. */
const breathe = (): Promise<void> => settle(25);

describe('a task that an API does', () => {
  it('goes on across a restart, is started once, and has the result of the API', async () => {
    const clock = new ManualClock();
    const service = await serving(new GenericService(clock));
    const options = { start: { url: `${service.origin}/builds` } };
    const first = site(options, { clock });
    const { taskId } = await start(first.tasks, 'build', { branch: 'main' });
    await service.until('start');
    await passUntil(clock, service, 'status', 1);
    await first.tasks.close();
    const second = site(options, { clock, folder: first.folder });
    await second.tasks.start();
    await passUntil(clock, service, 'status', 3);
    service.finish({ artifact: 'a' });
    const over = reaches(second.tasks, taskId, 'completed');
    await passUntil(clock, service, 'result', 1);
    await over;
    expect(await standing(second, taskId)).toMatchObject({ result: { structuredContent: { artifact: 'a' } } });
    expect(service.jobs.size).toBe(1);
  });

  it('is not started again when its answer was dropped, unless keys are honoured: then once more, for the same job', async () => {
    for (const honoured of [false, true]) {
      const clock = new ManualClock();
      const service = await serving(new GenericService(clock));
      service.honoursKeys = honoured;
      service.faults = [{ about: 'start', when: 'after', how: 'drop' }];
      const here = site({ start: { url: `${service.origin}/builds` }, idempotency: { honoured } }, { clock });
      const { taskId } = await start(here.tasks, 'build');
      const over = reaches(here.tasks, taskId, honoured ? 'completed' : 'failed');
      if (honoured) {
        await passUntil(clock, service, 'start', 2);
        service.finish();
        await passUntil(clock, service, 'result', 1);
      } else {
        await passUntilOver(clock, over);
      }
      await over;
      expect(service.jobs.size).toBe(1);
      if (honoured) continue;
      expect(await standing(here, taskId)).toMatchObject({
        error: {
          message: expect.stringMatching(
            /^lost: whether it was started is not known.*may or may not have taken effect/,
          ),
        },
      });
    }
  });

  it('waits as long as a service in trouble says before it is started again', async () => {
    const clock = new ManualClock();
    const service = await serving(new GenericService(clock));
    const busy = { status: 429, headers: { 'retry-after': '120' } };
    service.faults = [{ about: 'start', when: 'before', how: busy }];
    const here = site({ start: { url: `${service.origin}/builds` } }, { clock });
    await start(here.tasks, 'build');
    await service.until('start');
    await breathe();
    await pass(clock, 110_000);
    await breathe();
    expect(service.about('start')).toHaveLength(1);
    await passUntil(clock, service, 'start', 2);
    expect(service.jobs.size).toBe(1);
  });

  it('[C-018] is cancelled where it runs when its task is, also by another process', async () => {
    const clock = new ManualClock();
    const service = await serving(new CiService(clock));
    const options = ciTool(service);
    const first = site(options, { clock });
    const other = site(options, { clock, folder: first.folder });
    const { taskId } = await start(first.tasks, 'build', { ref: 'main' });
    await passUntil(clock, service, 'status', 1);
    await other.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    await passUntil(clock, service, 'cancel', 1);
    expect(service.job().state).toBe('cancelled');
    const asked = service.about('status').length;
    await pass(clock, 60_000);
    await breathe();
    expect(service.about('status').length).toBe(asked);
    expect(await standing(first, taskId)).toMatchObject({ status: 'cancelled' });
  });

  it('[C-018] is cancelled as soon as it appears, where its task was cancelled before', async () => {
    const clock = new ManualClock();
    const service = await serving(new CiService(clock));
    service.visibleAfterMs = 40_000;
    const here = site(ciTool(service), { clock });
    const { taskId } = await start(here.tasks, 'build', { ref: 'main' });
    await passUntil(clock, service, 'list', 2);
    await here.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    await passUntil(clock, service, 'cancel', 1);
    expect(service.job().state).toBe('cancelled');
  });
});

/** A dispatch tells no id; its run shows the key in its name. */
function ciTool(service: CiService): HttpToolOptions {
  return {
    start: {
      url: `${service.origin}/workflows/nightly/dispatches`,
      body: { ref: { input: 'ref' }, inputs: { token: { job: 'key' } } },
      accepted: [204],
    },
    find: {
      url: `${service.origin}/workflows/nightly/runs`,
      query: { event: 'workflow_dispatch' },
      items: '$.workflow_runs',
      match: '$.name',
      how: 'includes',
      appearsWithinMs: 300_000,
    },
    status: {
      url: '/workflows/nightly/runs/{answer.id}',
      state: '$.status',
      states: { done: ['success', 'neutral', 'skipped'], failed: ['failure', 'timed_out'], cancelled: ['cancelled'] },
      message: '$.failure',
      result: '$',
    },
    cancel: { method: 'POST', url: { status: '/cancel' } },
    idempotency: false,
  };
}

describe('[C-100] runs whose dispatch tells no id', () => {
  it('are each found by their own key, once, whoever else starts runs meanwhile and whatever the clocks say', async () => {
    const clock = new ManualClock();
    const service = await serving(new CiService(clock));
    service.skewMs = 120_000;
    service.visibleAfterMs = 40_000;
    const here = site(ciTool(service), { clock });
    const created = await Promise.all(
      Array.from({ length: 10 }, (_, n) => start(here.tasks, 'build', { ref: `b${n}` })),
    );
    await service.until('start', 10);
    service.byHand();
    const foreign = service.byHand(); // Newer than all of them.
    await passUntil(clock, service, 'list', 20);
    expect(service.about('status')).toEqual([]); // None has appeared, so none was taken.
    await passUntil(clock, service, 'status', 20);

    // From the first look on, each is asked for by the run it was bound to.
    const lists = service.about('list').length;
    service.byHand();
    await passUntil(clock, service, 'status', 60);
    expect(service.about('list').length).toBe(lists);
    for (const job of service.jobs.values()) service.finish({}, job.id);
    await Promise.all(created.map(({ taskId }) => passUntilOver(clock, reaches(here.tasks, taskId, 'completed'))));

    const bound = await Promise.all(
      created.map(async ({ taskId }, n) => {
        const state = (await standing(here, taskId)) as { result?: { structuredContent?: { id: string } } };
        const { id } = state.result?.structuredContent ?? { id: 'none' };
        return { n, id, ref: (service.job(id).body as { ref: string }).ref };
      }),
    );
    expect(bound.map(({ ref }) => ref)).toEqual(bound.map(({ n }) => `b${n}`));
    expect(new Set(bound.map(({ id }) => id)).size).toBe(10);
    expect(service.about('status').some(({ path }) => path.includes(foreign))).toBe(false);
    expect(service.about('start')).toHaveLength(10);
  });

  it('stay bound after a restart, also to a run that was dispatched when the process died', async () => {
    const clock = new ManualClock();
    const service = await serving(new CiService(clock));
    service.visibleAfterMs = 40_000;
    const first = site(ciTool(service), { clock });
    const { taskId } = await start(first.tasks, 'build', { ref: 'main' });
    service.faults = [{ about: 'start', when: 'after', how: 'hang' }];
    await service.until('start');
    await breathe();
    await first.tasks.close(); // Dispatched, and nobody heard the answer.
    const second = site(ciTool(service), { clock, folder: first.folder });
    service.byHand();
    await second.tasks.start();
    await passUntil(clock, service, 'status', 3);
    expect(service.about('start')).toHaveLength(1);
    service.finish({}, 'op-1');
    await passUntilOver(clock, reaches(second.tasks, taskId, 'completed'));
    expect(await standing(second, taskId)).toMatchObject({ result: { structuredContent: { id: 'op-1' } } });
  });

  it('that never appear are lost, and said to be, not dispatched again', async () => {
    const clock = new ManualClock();
    const service = await serving(new CiService(clock));
    service.visibleAfterMs = Number.POSITIVE_INFINITY;
    const here = site(ciTool(service), { clock });
    const { taskId } = await start(here.tasks, 'build', { ref: 'main' });
    await passUntilOver(clock, reaches(here.tasks, taskId, 'failed'));
    expect(await standing(here, taskId)).toMatchObject({
      error: { message: expect.stringContaining('it was started, and has not appeared since') },
    });
    expect(service.about('start')).toHaveLength(1);
  });

  it('cannot be set up where nothing carries the key: no run is ever guessed at', async () => {
    const service = await serving(new CiService(new ManualClock()));
    const options = ciTool(service);
    expect(() => httpTool({ ...options, start: { ...options.start, body: { ref: 'main' } } })).toThrow(
      'nothing in the start carries the job’s key',
    );
  });
});

/** Lets time pass until something is over. */
async function passUntilOver(clock: ManualClock, over: Promise<unknown>): Promise<void> {
  let done = false;
  const watched = over.then(() => {
    done = true;
  });
  for (let tries = 0; !done && tries < 2_000; tries += 1) {
    clock.advance(1_000);
    await breathe();
  }
  if (!done) throw new Error('it is not over after 2000 seconds');
  await watched;
}
