import type { JobAdapter, JsonValue } from '../../core/index.ts';
import type { SuiteCase } from '../suite.ts';
import { AdapterBench, BareAdapter } from './bench.ts';
import type { AdapterHarness, AdapterSystem } from './system.ts';
import { TaskBench } from './task-bench.ts';

/** What a case may need: a system with its levers, and an adapter with what it can do. */
export interface AdapterUnderTest {
  system: AdapterSystem;
  adapter: JobAdapter<unknown, JsonValue>;
}

/** Why it is not there; `undefined`: it is. */
type Need = (there: AdapterUnderTest) => string | undefined;

export interface AdapterCase extends SuiteCase<AdapterHarness> {
  /** Why this case says nothing about an adapter; `undefined`: it applies. @internal */
  notFor: Need;
}

/** A case on the adapter alone. */
export function bare(name: string, needs: readonly Need[], test: (bare: BareAdapter) => Promise<void>): AdapterCase {
  return adapterCase(name, needs, async (bench) => test(await BareAdapter.on(bench)));
}

/** A case on the engine with the adapter. */
export function throughTasks(
  name: string,
  needs: readonly Need[],
  test: (bench: TaskBench) => Promise<void>,
): AdapterCase {
  return adapterCase(name, needs, (bench) => test(new TaskBench(bench)));
}

function adapterCase(name: string, needs: readonly Need[], test: (bench: AdapterBench) => Promise<void>): AdapterCase {
  const notFor: Need = (there) => needs.map((need) => need(there)).find((why) => why !== undefined);
  return {
    name,
    notFor,
    async run(harness) {
      const bench = await AdapterBench.open(harness);
      try {
        const why = notFor(await underTest(bench));
        if (why !== undefined) throw new Error(`this case does not apply: ${why}`); // It must not look as if it had passed.
        await test(bench);
      } finally {
        await bench.close();
      }
    },
  };
}

/** What there is, looked at in a process of its own. */
export async function underTest(bench: AdapterBench): Promise<AdapterUnderTest> {
  const bare = await BareAdapter.on(bench);
  const { adapter } = bare;
  await bench.time.during('leave', () => bare.leave());
  return { system: bench.system, adapter };
}

export const lever =
  (...names: (keyof AdapterSystem)[]): Need =>
  ({ system }) => {
    const absent = names.find((name) => system[name] === undefined);
    return absent === undefined ? undefined : `the harness has no lever ${absent}`;
  };

export const method =
  (name: 'refOf' | 'find' | 'cancel' | 'logs' | 'answer' | 'changed' | 'webhook' | 'release'): Need =>
  ({ adapter }) =>
    adapter[name] === undefined ? `the adapter has no ${name}` : undefined;

export const idempotentStart: Need = ({ adapter }) =>
  adapter.caps.idempotentStart ? undefined : 'caps.idempotentStart is false';

export const canCancel: Need = ({ adapter }) => (adapter.caps.cancel === 'none' ? "caps.cancel is 'none'" : undefined);

export const hasLogs: Need = ({ adapter }) => (adapter.caps.logs === 'none' ? "caps.logs is 'none'" : undefined);

export const liveLogs: Need = ({ adapter }) =>
  adapter.caps.logs === 'live' ? undefined : `caps.logs is '${adapter.caps.logs}'`;

export const takesInput: Need = ({ adapter }) => (adapter.caps.input ? undefined : 'caps.input is false');

export const hasPush: Need = ({ adapter }) => (adapter.caps.push ? undefined : 'caps.push is false');

/** A start whose fate is not known does no harm. */
export const startsOnce: Need = ({ adapter }) =>
  adapter.caps.idempotentStart || adapter.find !== undefined
    ? undefined
    : 'a start can neither be repeated (caps.idempotentStart) nor looked for (find)';

/** It is not known what became of a start that was broken off. */
export const startsInDoubt: Need = (there) =>
  startsOnce(there) === undefined ? 'a start can be repeated (caps.idempotentStart) or looked for (find)' : undefined;

/** Its ref is recorded before anything else happens. */
export const recordsRef: Need = ({ adapter }) =>
  adapter.refOf === undefined ? undefined : 'what a job is known by follows from its key (refOf) and is not recorded';

/** Two records bracket its start. */
export const recordsIntent: Need = (there) =>
  recordsRef(there) ?? (there.adapter.caps.idempotentStart ? 'a start needs no record of its own' : undefined);
