import type { Bench, Figure } from '../figure.ts';
import { LegacySession } from '../support/legacy-session.ts';
import { startServer } from '../support/server-process.ts';
import { median, series, shuffled } from '../support/statistics.ts';
import { perSecond, turns, type Work } from '../support/work.ts';

const RUNS = 5;
const IN_FLIGHT = 32;
const WARM_UP = 2_000;
/** Both sides take turns within a run, in slices short enough that a busy machine meets both. */
const SLICES = 8;
const TASKS = 400;

/** Durable tasks against those that the official SDK keeps in memory. */
export const lifecycleOverSdkV1: Figure = {
  name: 'lifecycle-over-sdk-v1',
  unit: 'ratio',
  aim: 2,
  better: 'higher',
  against:
    'a server of SDK v1 1.32.2 (InMemoryTaskStore, registerToolTask, node:http); tasks per second from ' +
    'tools/call to the answer of tasks/result, HTTP 2025-11-25, 32 in flight in one session',
  async measure(bench) {
    const runs = await series(RUNS, (run) => {
      bench.progress(`run ${run} of ${RUNS}`);
      return once(bench);
    });
    const ours = median(runs.map((run) => run.ours));
    const theirs = median(runs.map((run) => run.theirs));
    return {
      values: runs.map((run) => run.ours / run.theirs),
      detail: `${Math.round(ours)} per s / ${Math.round(theirs)} per s`,
    };
  },
};

async function once(bench: Bench): Promise<{ ours: number; theirs: number }> {
  const servers = await Promise.all([startServer('durable', [bench.folder()]), startServer('sdk-v1')]);
  const sessions = await Promise.all(servers.map(({ url }) => LegacySession.open(url, { sockets: IN_FLIGHT })));
  const [ours, theirs] = sessions.map((session) => ({ session, works: [] as Work[] })) as [Side, Side];
  try {
    for (const { session } of [ours, theirs]) await lifecycles(session, WARM_UP, 3_000);
    for (let slice = 0; slice < SLICES; slice += 1) {
      for (const { session, works } of shuffled([ours, theirs])) works.push(await lifecycles(session, TASKS, 1_500));
    }
    return { ours: perSecond(ours.works), theirs: perSecond(theirs.works) };
  } finally {
    for (const session of sessions) session.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

interface Side {
  session: LegacySession;
  works: Work[];
}

async function lifecycles(session: LegacySession, count: number, maxMs: number): Promise<Work> {
  const all = turns(count, maxMs);
  let done = 0;
  const oneByOne = async (): Promise<void> => {
    for (const n of all) {
      const words = `to be durable or not to be, that is question ${n}`;
      await session.lifecycle('echo', { words }, words);
      done += 1;
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, oneByOne));
  return { done, seconds: (performance.now() - startedAt) / 1_000 };
}
