import { type AdapterCase, underTest } from './adapters/adapter-case.ts';
import { AdapterBench } from './adapters/bench.ts';
import { crashCases } from './adapters/crash-cases.ts';
import { standingCases } from './adapters/standing.ts';
import { startingCases } from './adapters/starting.ts';
import type { AdapterHarness } from './adapters/system.ts';
import { talkingCases } from './adapters/talking.ts';
import { taskCases } from './adapters/task-cases.ts';
import { troubleCases } from './adapters/trouble-cases.ts';
import type { SuiteCase } from './suite.ts';

/** What every `JobAdapter` promises, by itself and to the engine. Each case opens a system of its own. */
const all: readonly AdapterCase[] = [
  ...startingCases,
  ...standingCases,
  ...talkingCases,
  ...taskCases,
  ...troubleCases,
  ...crashCases,
];

export interface AdapterSuite {
  /** Run these with the harness: `run(harness)`. */
  cases: readonly SuiteCase<AdapterHarness>[];
  /** Those that say nothing about this adapter, and why: it does not promise what they are about, or the harness has no lever. */
  notApplicable: readonly { name: string; why: string }[];
}

/**
 * The contract of job adapters, as cases for any test runner: what `longcall` relies on when it has jobs done by an adapter. Opens
 * the harness's system once, to see what the adapter can do and which levers there are.
 * @throws what opening it throws
 */
export async function adapterSuite(harness: AdapterHarness): Promise<AdapterSuite> {
  const bench = await AdapterBench.open(harness);
  try {
    const there = await underTest(bench);
    const sorted = all.map(({ name, run, notFor }) => ({ name, run, why: notFor(there) }));
    return {
      cases: sorted.filter(({ why }) => why === undefined).map(({ name, run }) => ({ name, run })),
      notApplicable: sorted.flatMap(({ name, why }) => (why === undefined ? [] : [{ name, why }])),
    };
  } finally {
    await bench.close();
  }
}
