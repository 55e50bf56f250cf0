import type { Bench, Figure } from '../figure.ts';
import { pause } from '../support/machine-time.ts';
import { Member, type Replies } from '../support/member.ts';
import { median, series } from '../support/statistics.ts';

const RUNS = 5;
const PARKED = 10_000;
const WARM_UPS = 2;
/** Half of them asked a question, half of them sleep until tomorrow. */
const TOOLS = ['ask', 'nap'];
const IN_FLIGHT = 32;
const PATIENCE_MS = 120_000;

/** What a process keeps of tasks that wait for days. */
export const parked10kRss: Figure = {
  name: 'parked-10k-rss',
  unit: 'MB',
  aim: 1,
  better: 'lower',
  against:
    'the same process before it had them, after as many that asked or slept were cancelled, so that its caches are full ' +
    'and its code is compiled; garbage collected both times; 10,000 tasks, half with a question, half asleep',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const of = (what: keyof Replies['memory'], when: 'before' | 'after') =>
      median(runs.map((run) => run[when][what])).toFixed(1);
    const heap = median(runs.map(({ before, after }) => after.heap - before.heap));
    return {
      values: runs.map(({ before, after }) => after.rss - before.rss),
      detail:
        `RSS ${of('rss', 'before')} to ${of('rss', 'after')} MB, JavaScript heap ${of('heap', 'before')} to ` +
        `${of('heap', 'after')} MB, which is ${((heap * 1024 * 1024) / PARKED).toFixed(0)} bytes a task`,
    };
  },
};

async function once(bench: Bench): Promise<{ before: Replies['memory']; after: Replies['memory'] }> {
  const member = await Member.start(bench.folder(), { holdInputMs: 5 }, ['--expose-gc']);
  try {
    for (let round = 1; round <= WARM_UPS; round += 1) {
      await park(member, round * PARKED);
      await member.order({ do: 'cancel' });
    }
    const before = await member.order({ do: 'memory' });
    await park(member, (WARM_UPS + 1) * PARKED);
    return { before, after: await member.order({ do: 'memory' }) };
  } finally {
    await member.stop();
  }
}

/** @param runs how many runs of handlers the process will have started by then, each but once */
async function park(member: Member, runs: number): Promise<void> {
  for (const tool of TOOLS) {
    await member.order({ do: 'create', tool, count: PARKED / TOOLS.length, inFlight: IN_FLIGHT });
  }
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until) {
    const { started, going } = await member.order({ do: 'runs' });
    if (started > runs) throw new Error(`expected ${runs} runs of handlers, got ${started}`);
    if (started === runs && going === 0) {
      await pause(1_500); // Longer than the time between two sweeps.
      return;
    }
    await pause(100);
  }
  throw new Error(`${PARKED} tasks were not put away within ${PATIENCE_MS} ms`);
}
