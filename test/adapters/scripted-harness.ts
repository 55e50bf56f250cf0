import type { Clock, JobCaps, JsonObject } from '../../src/core/index.ts';
import type { AdapterHarness, AdapterSystem, Burst } from '../../src/testing/index.ts';
import { busy, type Fault, ScriptedService, type ServiceJob } from '../engine/scripted-service.ts';

export type ServiceCaps = Partial<JobCaps> & { find?: boolean; derived?: boolean };
export type ServiceAdapter = ReturnType<ScriptedService['adapter']>;

/** A service in memory, with every lever there is. @param change what another adapter over it does differently */
export function scriptedHarness(
  caps: ServiceCaps,
  change: (adapter: ServiceAdapter, service: ScriptedService) => ServiceAdapter = (adapter) => adapter,
): AdapterHarness<JsonObject, string> {
  return {
    open: ({ clock }) => {
      const service = new ScriptedService();
      return scriptedSystem(service, clock, () => change(service.adapter(caps), service));
    },
  };
}

function scriptedSystem(
  service: ScriptedService,
  clock: Clock,
  adapter: () => ServiceAdapter,
): AdapterSystem<JsonObject, string> {
  const named = (name: string): ServiceJob[] => service.all.filter(({ args }) => args.name === name);
  const last = (name: string): string => named(name).at(-1)?.id ?? '';
  const lose = (fault: Omit<Fault, 'method'>): void => void service.faults.push({ method: 'start', ...fault });
  return {
    enter() {
      const own = adapter();
      const answer: typeof own.answer = async (ref, key, given, context) => {
        const first = service.job(ref).answers[key] === undefined;
        await own.answer?.(ref, key, given, context);
        if (first && service.job(ref).snapshot.state === 'input') service.set({ state: 'working' }, ref);
      };
      return { adapter: { ...own, answer } };
    },
    args: (name) => ({ name }),
    unknownRef: 'job-999',
    started: (name) => named(name).length,
    finish: (name, text) => service.finish(text, last(name)),
    fail: (name, text) =>
      service.set(
        { state: 'done', outcome: 'error', result: { isError: true, content: [{ type: 'text', text }] } },
        last(name),
      ),
    cancel: (name) => service.set({ state: 'cancelled' }, last(name)),
    vanish: (name) => void service.jobs.delete(last(name)),
    stopped: (name) => named(name).some(({ cancelled }) => cancelled),
    log: (name, lines) => void service.job(last(name)).lines.push(...lines),
    ask: (name, form) => service.ask({ go: form }, last(name)),
    answers: (name) => Object.values(service.job(last(name)).answers).flatMap((given) => given.slice(0, 1)),
    dropStartAnswer: () => lose({ when: 'after', error: new Error('socket hang up') }),
    refuseStart: () => lose({ when: 'before', error: busy() }),
    burst({ on, status, times, retryAfterMs }: Burst) {
      const error = status === 429 ? busy(retryAfterMs) : new Error(`HTTP ${status}`);
      for (let n = 0; n < times; n += 1) service.faults.push({ method: on, when: 'before', error });
      const at: number[] = [];
      service.onRequest = (method) => {
        if (method === on) at.push(clock.monotonic());
      };
      return { at };
    },
    hideStarted: () => service.hide(),
    webhook: (name, from) => service.webhook(last(name), from === 'system'),
  };
}
