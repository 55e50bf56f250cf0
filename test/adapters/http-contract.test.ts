import { describe, it } from 'vitest';
import type { HttpRef, HttpToolOptions } from '../../src/adapters/index.ts';
import { httpTool } from '../../src/adapters/index.ts';
import type { Clock, JsonObject } from '../../src/core/index.ts';
import { type AdapterHarness, adapterSuite, type Burst } from '../../src/testing/index.ts';
import { AipService } from '../fakes/aip-service.ts';
import { AzureService } from '../fakes/azure-service.ts';
import { CiService } from '../fakes/ci-service.ts';
import type { FakeJob, FakeService } from '../fakes/fake-service.ts';
import { GenericService } from '../fakes/generic-service.ts';

interface Kind {
  make: (clock: Clock) => FakeService;
  options: (origin: string) => HttpToolOptions;
  /** A ref of nothing. */
  unknown: (origin: string) => HttpRef;
  /** What it has no lever for. */
  without?: readonly string[];
}

/** A service on a real port, and the levers that it has. Each process has an adapter of its own; all time is the clock's. */
function harness({ make, options, unknown, without = [] }: Kind): AdapterHarness<JsonObject, HttpRef> {
  return {
    async open({ clock }) {
      const service = make(clock);
      await service.listen();
      const named = (name: string): FakeJob[] => service.begun.filter(({ body }) => nameIn(body) === name);
      const last = (name: string): FakeJob => named(name).at(-1) as FakeJob;
      const system = {
        enter: () => ({ adapter: httpTool({ ...options(service.origin), clock }) }),
        args: (name: string) => ({ name }),
        unknownRef: unknown(service.origin),
        sameJob: (one: HttpRef, other: HttpRef) => isOne(service, one, other),
        started: (name: string) => named(name).length,
        finish: (name: string, text: string) => service.finish({ text }, last(name).id),
        fail: (name: string, text: string) => service.fail(text, last(name).id),
        cancel: (name: string) => void Object.assign(last(name), { state: 'cancelled' }),
        vanish: (name: string) => void service.jobs.delete(last(name).id),
        stopped: (name: string) => named(name).some(({ state }) => state === 'cancelled'),
        dropStartAnswer: () => void service.faults.push({ about: 'start', when: 'after', how: 'drop' }),
        refuseStart: () => void service.faults.push({ about: 'start', when: 'before', how: { status: 429 } }),
        burst: ({ on, status, times, retryAfterMs }: Burst) => {
          const about = on === 'start' ? 'start' : 'status';
          const headers = retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) };
          for (let n = 0; n < times; n += 1) service.faults.push({ about, when: 'before', how: { status, headers } });
          const at: number[] = [];
          service.onRequest = (request) => {
            if (request.about === about) at.push(clock.monotonic());
          };
          return { at };
        },
        hideStarted: () => {
          service.visibleAfterMs = Number.POSITIVE_INFINITY;
          return () => {
            service.visibleAfterMs = 0;
          };
        },
        close: () => service.close(),
      };
      for (const lever of without) delete (system as Record<string, unknown>)[lever];
      return system;
    },
  };
}

/** One that is only looked for has the name of its job, and any other its id. */
function isOne(service: FakeService, one: HttpRef, other: HttpRef): boolean {
  const idOf = ({ status, input }: HttpRef): string | undefined =>
    /op-\d+/.exec(status ?? '')?.[0] ?? service.begun.find(({ body }) => nameIn(body) === nameIn(input))?.id;
  return idOf(one) === idOf(other);
}

function nameIn(body: unknown): string | undefined {
  const { name, inputs } = (body ?? {}) as { name?: string; inputs?: { name?: string } };
  return name ?? inputs?.name;
}

const KINDS: Record<string, Kind> = {
  'answers 202, and starts once for a key': {
    make: (clock) => Object.assign(new GenericService(clock), { honoursKeys: true }),
    options: (origin) => ({
      start: { url: `${origin}/builds` },
      status: { appearsWithinMs: 60_000 },
      idempotency: { honoured: true },
    }),
    unknown: (origin) => ({ status: `${origin}/operations/op-999`, cancel: `${origin}/operations/op-999` }),
    without: ['fail', 'cancel'], // Its monitor says neither.
  },
  'answers 202, and honours nothing': {
    make: (clock) => new GenericService(clock),
    options: (origin) => ({ start: { url: `${origin}/builds` } }),
    unknown: (origin) => ({ status: `${origin}/operations/op-999`, cancel: `${origin}/operations/op-999` }),
    without: ['fail', 'cancel', 'hideStarted'],
  },
  'returns an Operation': {
    make: (clock) => Object.assign(new AipService(clock), { honoursKeys: true }),
    options: (origin) => ({
      preset: 'aip-151',
      start: {
        url: `${origin}/v1/projects/p/builds:run`,
        body: { name: { input: 'name' }, requestId: { job: 'uuid' } },
      },
      status: { appearsWithinMs: 60_000 },
      idempotency: { honoured: true },
    }),
    unknown: (origin) => ({
      status: `${origin}/v1/projects/p/operations/op-999`,
      cancel: `${origin}/v1/operations/op-999:cancel`,
    }),
  },
  'is of Azure’s kind': {
    make: (clock) => Object.assign(new AzureService(clock), { honoursKeys: true }),
    options: (origin) => ({
      preset: 'azure',
      start: { url: `${origin}/things/x` },
      status: { appearsWithinMs: 60_000 },
      idempotency: { header: 'idempotency-key', honoured: true },
      cancel: { url: { status: ':cancel' } },
    }),
    unknown: (origin) => ({ status: `${origin}/operations/op-999`, cancel: `${origin}/operations/op-999:cancel` }),
  },
  'tells no id, and lists its runs': {
    make: (clock) => new CiService(clock),
    options: (origin) => ({
      start: {
        url: `${origin}/workflows/w/dispatches`,
        body: { inputs: { token: { job: 'key' }, name: { input: 'name' } } },
        accepted: [204],
      },
      find: {
        url: `${origin}/workflows/w/runs`,
        items: '$.workflow_runs',
        match: '$.name',
        how: 'includes',
        appearsWithinMs: 0,
      },
      status: {
        url: '/workflows/w/runs/{answer.id}',
        state: '$.status',
        states: { done: ['success'], failed: ['failure'], cancelled: ['cancelled'] },
        message: '$.failure',
        result: '$.result',
      },
      cancel: { method: 'POST', url: { status: '/cancel' } },
      idempotency: false,
    }),
    unknown: (origin) => ({
      status: `${origin}/workflows/w/runs/op-999`,
      cancel: `${origin}/workflows/w/runs/op-999/cancel`,
    }),
    without: ['hideStarted'], // That it may be shown late is told by its own tests: the cases here ask without a time.
  },
};

for (const [what, kind] of Object.entries(KINDS)) {
  const one = harness(kind);
  const { cases, notApplicable } = await adapterSuite(one);
  describe(`an API that ${what}`, () => {
    it.each(cases)('$name', ({ run }) => run(one));
    it.skip.each(notApplicable)('$name (not applicable: $why)', () => {});
  });
}
