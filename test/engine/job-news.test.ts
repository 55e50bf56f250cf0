import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JobAdapter, type JobHint, type JsonObject, LOCAL_PRINCIPAL } from '../../src/core/index.ts';
import type { JobTaskOptions } from '../../src/engine/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { pass, reaches, settle, someTasks, start } from '../support/engine.ts';
import { scratchFolder } from '../support/stores.ts';
import { ScriptedService } from './scripted-service.ts';

interface SiteOptions {
  service?: ScriptedService;
  folder?: string;
  clock?: ManualClock;
  task?: JobTaskOptions;
  /** What is different about the adapter. */
  over?: Partial<JobAdapter<JsonObject, string>>;
}

/** One tool that is a job of a service, which says of its hooks' bodies that they are hints. */
function site({ service = new ScriptedService(), folder = aFolder(), task = {}, over = {}, clock }: SiteOptions = {}) {
  const made = someTasks({ store: sqliteStore(join(folder, 'tasks.db')), ...(clock !== undefined && { clock }) });
  const webhook = async (request: Request) => (await request.json()) as JobHint<string>[];
  made.tasks.registerJob('build', { task }, { ...service.adapter({ find: true }), webhook, ...over });
  onTestFinished(() => made.tasks.close());
  return { ...made, service, folder };
}

function aFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const hook = (hints: object[]): Request =>
  new Request('https://hooks.test/', { method: 'POST', body: JSON.stringify(hints) });

describe('news that a service sends', () => {
  it.each(['idempotencyKey', 'ref'])('have a task look that is at work here, told by its %s', async (by) => {
    const { tasks, service } = site();
    service.first = { state: 'working', nextPollMs: 15_000 };
    const { taskId } = await start(tasks, 'build');
    await service.until('poll');
    await settle();
    const polls = service.count('poll');
    service.finish();
    const hint = by === 'ref' ? { ref: 'job-1' } : { idempotencyKey: [...service.byKey.keys()][0] };
    expect(await tasks.webhook('build', hook([hint]))).toBe(1);
    await reaches(tasks, taskId, 'completed'); // The clock stands still: nothing else would have looked.
    expect(service.count('poll')).toBe(polls + 1);
  });

  it.each(['idempotencyKey', 'ref'])(
    'wake a task that was put away, also after a restart, told by its %s',
    async (by) => {
      const first = site();
      const { service, clock, folder } = first;
      service.first = { state: 'working', nextPollMs: 3_000_000 };
      const { taskId } = await start(first.tasks, 'build');
      await service.until('poll');
      await settle();
      await pass(clock, 60_000);
      await first.tasks.close();
      const second = site({ service, clock, folder });
      await second.tasks.start();
      await settle();
      const polls = service.count('poll');
      service.finish();
      const hint = by === 'ref' ? { ref: 'job-1' } : { idempotencyKey: [...service.byKey.keys()][0] };
      expect(await second.tasks.webhook('build', hook([hint]))).toBe(1);
      await reaches(second.tasks, taskId, 'completed');
      expect(service.count('poll')).toBe(polls + 1);
      expect(await second.tasks.webhook('build', hook([hint]))).toBe(0); // It is over.
    },
  );

  it('are about no other task, and about none that is not there', async () => {
    const { tasks, service } = site();
    service.first = { state: 'working', nextPollMs: 15_000 };
    for (let n = 0; n < 3; n += 1) await start(tasks, 'build');
    await service.until('poll', 3);
    await settle();
    const polls = service.count('poll');
    const [, key] = [...service.byKey.keys()];
    expect(await tasks.webhook('build', hook([{ idempotencyKey: key }]))).toBe(1);
    await service.until('poll', polls + 1);
    await settle();
    expect(service.asked.slice(-1)).toMatchObject([{ method: 'poll', key }]);
    expect(service.count('poll')).toBe(polls + 1);
    expect(await tasks.webhook('build', hook([{ idempotencyKey: 'x'.repeat(24) }, { ref: 'job-9' }, {}]))).toBe(0);
  });

  it('are told apart from what is not authentic, a tool that takes none, and no tool', async () => {
    const { tasks } = site();
    tasks.registerJob('deaf', {}, new ScriptedService().adapter());
    tasks.registerTool('handler', {}, () => ({ content: [] }));
    expect(await tasks.webhook('build', hook([]))).toBeUndefined();
    expect(await tasks.webhook('build', hook([{}]))).toBe(0);
    for (const name of ['deaf', 'handler', 'nothing']) {
      expect(await tasks.webhook(name, hook([{}]))).toBeUndefined();
    }
  });

  it('that come in floods are not all followed', async () => {
    const { tasks, service } = site();
    service.first = { state: 'working', nextPollMs: 15_000 };
    await start(tasks, 'build');
    await service.until('poll');
    await settle();
    const [idempotencyKey] = [...service.byKey.keys()];
    for (let n = 0; n < 50; n += 1) {
      await tasks.webhook('build', hook([{ idempotencyKey }]));
      await settle(3);
    }
    expect(service.count('poll')).toBeLessThan(15);
  });
});

describe('a job that is told late what it is known by', () => {
  it('is known by that from then on, also after a restart, and is cancelled by it', async () => {
    let moved = 0;
    const service = new ScriptedService();
    const adapter = service.adapter({ find: true });
    const over: Partial<JobAdapter<JsonObject, string>> = {
      start: async (args, context) => {
        await adapter.start(args, context);
        return { ref: 'queued' };
      },
      poll: async (ref, context) => {
        if (ref !== 'queued') return adapter.poll(ref, context);
        if (moved === 0) return { state: 'working' };
        return { state: 'working', ref: 'job-1' };
      },
    };
    const first = site({ service, over });
    const { taskId } = await start(first.tasks, 'build');
    await service.until('start');
    await settle();
    await pass(first.clock, 10_000);
    expect(service.count('poll')).toBe(0);
    moved = 1;
    await pass(first.clock, 20_000);
    await service.until('poll');
    await first.tasks.close();
    moved = 0; // Whoever still asked for what is queued would learn nothing.
    const second = site({ service, over, clock: first.clock, folder: first.folder });
    await second.tasks.start();
    await settle();
    const polls = service.count('poll');
    await pass(second.clock, 60_000);
    expect(service.count('poll')).toBeGreaterThan(polls);
    await second.tasks.engine.cancel(taskId, LOCAL_PRINCIPAL);
    await service.until('cancel');
    expect(service.job('job-1').cancelled).toBe(true);
    expect(service.count('start')).toBe(1);
  });
});

describe('who looks for a job', () => {
  it('is told since when it may have been started, the same after a restart', async () => {
    const service = new ScriptedService();
    const asked: (number | undefined)[] = [];
    const over: Partial<JobAdapter<JsonObject, string>> = {
      find: async (_args, _context, since) => {
        asked.push(since);
        throw new Error('not yet');
      },
    };
    service.faults = [{ method: 'start', when: 'after', error: new Error('cut') }];
    const first = site({ service, over });
    const startedAt = first.clock.now();
    await start(first.tasks, 'build');
    await service.until('start');
    await settle();
    await pass(first.clock, 10_000);
    await first.tasks.close();
    const second = site({ service, over, clock: first.clock, folder: first.folder });
    await second.tasks.start();
    await pass(second.clock, 60_000);
    expect(asked.length).toBeGreaterThan(2);
    expect(new Set(asked)).toEqual(new Set([startedAt]));
    expect(service.count('start')).toBe(1);
  });

  it('is told of the last start, where the one before it came to nothing', async () => {
    const service = new ScriptedService();
    const asked: number[] = [];
    const SHOWN_WITHIN_MS = 200_000;
    const { tasks, clock } = someTasks();
    onTestFinished(() => tasks.close());
    const adapter = service.adapter({ find: true });
    tasks.registerJob(
      'build',
      {},
      {
        ...adapter,
        find: async (_args, _context, since = 0) => {
          asked.push(since);
          if (clock.now() - since < SHOWN_WITHIN_MS) throw new Error('not yet');
          return undefined;
        },
      },
    );
    service.faults = [
      { method: 'start', when: 'before', error: new Error('cut') },
      { method: 'start', when: 'before', error: new Error('cut') },
    ];
    await start(tasks, 'build');
    await service.until('start');
    await settle();
    await pass(clock, 300_000);
    expect(service.count('start')).toBe(2);
    const after = asked.length;
    await pass(clock, 90_000); // The second is looked for as long as the first was.
    expect(asked.length).toBeGreaterThan(after);
    expect(service.count('start')).toBe(2);
    await pass(clock, 300_000);
    expect(service.count('start')).toBe(3);
  });
});
