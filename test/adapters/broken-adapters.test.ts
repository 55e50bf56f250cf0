import { describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../src/core/index.ts';
import { adapterSuite } from '../../src/testing/index.ts';
import type { ScriptedService } from '../engine/scripted-service.ts';
import { type ServiceAdapter, type ServiceCaps, scriptedHarness } from './scripted-harness.ts';

type Break = (adapter: ServiceAdapter, service: ScriptedService) => ServiceAdapter;

/** Adapters that each break one promise, and the cases that have to say so. A suite that cannot fail shows nothing. */
const BROKEN: [string, ServiceCaps, Break, { fails: string; saying: RegExp }[]][] = [
  [
    'keeps in memory what jobs are known by',
    { idempotentStart: true },
    (adapter) => {
      const refs = new Map<string, string>();
      return {
        ...adapter,
        async start(args, context) {
          const { ref } = await adapter.start(args, context);
          refs.set('1', ref);
          return { ref: '1' };
        },
        poll: (ref, context) => adapter.poll(refs.get(ref) ?? ref, context),
      };
    },
    [
      { fails: 'starts a job that goes on without the process that started it', saying: /told as .*lost/ },
      { fails: 'tells jobs apart', saying: /loosely deep|deep-equal|not to be/i },
      { fails: 'follows a job across a restart', saying: /lost/ },
    ],
  ],
  [
    'throws where a job is gone',
    { find: true },
    (adapter) => ({
      ...adapter,
      async poll(ref, context) {
        const snapshot = await adapter.poll(ref, context);
        if (snapshot.state === 'lost') throw new Error('HTTP 404');
        return snapshot;
      },
    }),
    [
      { fails: 'tells a job that is gone as lost, and does not throw', saying: /it threw HTTP 404/ },
      { fails: 'tells a ref that nobody knows as lost, and does not throw', saying: /it threw HTTP 404/ },
      { fails: 'fails with its job when that is lost, and says what is known', saying: /not within/ },
    ],
  ],
  [
    'tells the last line of a page again',
    { find: true, logs: 'live' },
    (adapter) => ({
      ...adapter,
      async logs(ref, cursor, context) {
        const back = String(Math.max(0, Number(cursor ?? 0) - 1));
        return (await adapter.logs?.(ref, back, context)) ?? { lines: [], cursor: '0', eof: true };
      },
    }),
    [
      { fails: 'reads a log on where another process stopped: every line once, in order', saying: /deep/ },
      { fails: 'has every line of its job in its own log once, in order, across a restart', saying: /deep/ },
    ],
  ],
  [
    'says too early that nothing follows in a log',
    { find: true, logs: 'live' },
    (adapter) => ({
      ...adapter,
      async logs(ref, cursor, context) {
        const page = (await adapter.logs?.(ref, cursor, context)) ?? { lines: [], cursor: '0', eof: true };
        return { ...page, eof: page.lines.length === 0 };
      },
    }),
    [
      {
        fails: 'says of a log that nothing follows once its job is over and all of it was read',
        saying: /lines may follow/,
      },
    ],
  ],
  [
    'looks for jobs and finds none',
    { find: true },
    (adapter) => ({ ...adapter, find: async () => undefined }),
    [
      { fails: 'finds a job that a process started and could not record', saying: /undefined/ },
      { fails: 'does a job once, whose process dies when it has started it', saying: /more than once/ },
      { fails: 'starts no second job while the first is not shown yet', saying: /another was started/ },
      { fails: 'does a job once, the answer to whose start was lost', saying: /more than once/ },
    ],
  ],
  [
    'finds what was started under another key',
    { find: true },
    (adapter, service) => ({ ...adapter, find: async () => service.all.at(-1)?.id }),
    [{ fails: 'finds nothing that was started under another key', saying: /undefined/ }],
  ],
  [
    'says that it starts once, and does not',
    {},
    (adapter) => ({ ...adapter, caps: { ...adapter.caps, idempotentStart: true } }),
    [
      { fails: 'gives one job to all starts with one key, whichever process they come from', saying: /deep/ },
      { fails: 'gives one job to two processes that start it at the same time', saying: /deep/ },
      { fails: 'does a job once, whose process dies when it has started it', saying: /more than once/ },
    ],
  ],
  [
    'does not do what it said beforehand',
    { idempotentStart: true },
    (adapter) => ({ ...adapter, refOf: ({ taskId }) => taskId }),
    [{ fails: 'says beforehand what a job will be known by', saying: /deep/ }],
  ],
  [
    'says for certain that a job was not started whose answer was lost',
    { find: true },
    (adapter) => ({
      ...adapter,
      start: (args, context) =>
        adapter.start(args, context).catch((error: unknown) => {
          throw Object.assign(error as Error, { mayHaveStarted: false });
        }),
    }),
    [
      { fails: 'finds or repeats a start whose answer was lost: there is one job', saying: /says for certain/ },
      { fails: 'does a job once, the answer to whose start was lost', saying: /more than once/ },
    ],
  ],
  [
    'leaves it open whether a refused start arrived',
    {},
    (adapter) => ({
      ...adapter,
      start: (args, context) =>
        adapter.start(args, context).catch(() => {
          throw new Error('fetch failed');
        }),
    }),
    [
      { fails: 'tells of a start that did not arrive, which then can be made again', saying: /mayHaveStarted/ },
      { fails: 'does a job once, whose start did not arrive at first', saying: /not within/ },
    ],
  ],
  [
    'does not say when it may ask again',
    { idempotentStart: true },
    (adapter) => {
      const plainly = (error: unknown): never => {
        throw new Error((error as Error).message);
      };
      return {
        ...adapter,
        start: (args, context) => adapter.start(args, context).catch(plainly),
        poll: (ref, context) => adapter.poll(ref, context).catch(plainly),
      };
    },
    [
      { fails: 'does a job once, whose starts are answered with 429, as late as was asked for', saying: /left alone/ },
      {
        fails: 'sees a job through, looks at which are answered with 429, as late as was asked for',
        saying: /left alone/,
      },
    ],
  ],
  [
    'takes trouble for an end',
    { find: true },
    (adapter) => ({
      ...adapter,
      poll: (ref, context) =>
        adapter.poll(ref, context).catch((error: Error) => ({ state: 'lost', message: error.message })),
    }),
    [{ fails: 'sees a job through, looks at which are answered with 500', saying: /lost: HTTP 500|not within/ }],
  ],
  [
    'tells another end at each look',
    { find: true },
    (adapter) => {
      let looks = 0;
      return {
        ...adapter,
        async poll(ref, context) {
          const snapshot = await adapter.poll(ref, context);
          looks += 1;
          return snapshot.state === 'done' && 'result' in snapshot
            ? { ...snapshot, result: { ...snapshot.result, looks } }
            : snapshot;
        },
      };
    },
    [{ fails: 'tells how a job ended well, and never otherwise afterwards', saying: /another end at the next look/ }],
  ],
  [
    'cannot be told to stop what is over',
    { find: true },
    (adapter, service) => ({
      ...adapter,
      async cancel(ref, context) {
        if (service.jobs.get(ref)?.snapshot.state !== 'working') throw new Error('HTTP 409');
        await adapter.cancel?.(ref, context);
      },
    }),
    [
      { fails: 'may be told to stop what is gone, over and released, or never was', saying: /HTTP 409/ },
      { fails: 'stops a job, however often it is told to and by whom', saying: /HTTP 409/ },
    ],
  ],
  [
    'stops whatever there is',
    { find: true },
    (adapter, service) => ({
      ...adapter,
      async cancel(_ref, context) {
        for (const { id } of service.all) await adapter.cancel?.(id, context);
      },
    }),
    [{ fails: 'stops no job but the one it is told to', saying: /b works, but .*cancelled/ }],
  ],
  [
    'says that it stopped a job, and did not',
    { find: true },
    (adapter) => ({ ...adapter, cancel: async () => {} }),
    [
      { fails: 'stops a job, however often it is told to and by whom', saying: /a was told to stop: not within/ },
      { fails: 'ends its job when it is cancelled', saying: /a was told to stop: not within/ },
      { fails: 'ends its job also when it is cancelled while nobody looks after it', saying: /was told to stop: not/ },
    ],
  ],
  [
    'refuses an answer that comes again',
    { find: true },
    (adapter, service) => ({
      ...adapter,
      async answer(ref, key, answer, context) {
        if (service.job(ref).answers[key] !== undefined) throw new NonRetryableError('answered already');
        await adapter.answer?.(ref, key, answer, context);
      },
    }),
    [{ fails: 'hands an answer over once, however often that is tried', saying: /answered already/ }],
  ],
  [
    'believes what anybody sends',
    { find: true },
    (adapter) => ({
      ...adapter,
      webhook: async (request) => [{ ref: ((await request.json()) as { ref: string }).ref }],
    }),
    [{ fails: 'takes a webhook for a hint, and believes neither it nor a forger', saying: /deep/ }],
  ],
  [
    'says that it has logs, and cannot read them',
    { find: true, logs: 'live' },
    ({ logs: _none, ...adapter }) => adapter,
    [{ fails: 'has the methods for what its caps say', saying: /caps need logs/ }],
  ],
];

describe.each(BROKEN)('an adapter that %s', (_what, caps, change, failures) => {
  it('fails the cases that are about that', async () => {
    const harness = { ...scriptedHarness(caps, change), patienceMs: 400 };
    const { cases } = await adapterSuite(harness);
    for (const { fails, saying } of failures) {
      const found = cases.find(({ name }) => name === fails);
      if (found === undefined) throw new Error(`no case applies that is called ${fails}`);
      await expect(found.run(harness), fails).rejects.toThrow(saying);
    }
  });
});

describe('a case that does not apply', () => {
  it('is named with the reason, and does not pass when it is run', async () => {
    const poor = scriptedHarness({ cancel: 'none', logs: 'none', input: false });
    const rich = scriptedHarness({ find: true, logs: 'live' });
    const { notApplicable } = await adapterSuite(poor);
    const name = 'ends its job when it is cancelled';
    expect(notApplicable).toContainEqual({ name, why: "caps.cancel is 'none'" });
    const found = (await adapterSuite(rich)).cases.find((one) => one.name === name);
    await expect(found?.run(poor)).rejects.toThrow("this case does not apply: caps.cancel is 'none'");
  });

  it('is one whose lever the harness lacks', async () => {
    const harness = scriptedHarness({ find: true, logs: 'live' });
    const without: typeof harness = {
      async open(options) {
        const { vanish: _none, burst: _neither, ...system } = await harness.open(options);
        return system;
      },
    };
    const [all, fewer] = [await adapterSuite(harness), await adapterSuite(without)];
    const why = fewer.notApplicable.filter((one) => !all.notApplicable.some(({ name }) => name === one.name));
    expect(new Set(why.map((one) => one.why))).toEqual(
      new Set(['the harness has no lever vanish', 'the harness has no lever burst']),
    );
    expect(fewer.cases.length + why.length).toBe(all.cases.length);
  });
});
