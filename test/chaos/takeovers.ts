import type { Run } from './evidence.ts';
import type { Life } from './fleet.ts';

export interface Takeover {
  ms: number;
  /** Another worker lived through all of it: nobody had to be started first. */
  survivor: boolean;
}

/**
 * From the SIGKILL of a worker to the start of its task's next attempt.
 * @param tasks the runs of each task
 */
export function takeovers(tasks: Iterable<readonly Run[]>, lives: readonly Life[]): Takeover[] {
  const found: Takeover[] = [];
  for (const runs of tasks) {
    for (const [n, run] of runs.entries()) {
      const next = runs[n + 1];
      const killed = run.life.blows.find(({ kind }) => kind === 'killed');
      if (next === undefined || killed === undefined || run.overAt !== killed.at) continue;
      const survivor = lives.some((life) => survived(life, killed.at, next.startedAt));
      found.push({ ms: next.startedAt - killed.at, survivor });
    }
  }
  return found;
}

function survived(life: Life, from: number, until: number): boolean {
  if (life.slots === 0 || life.listeningAt === undefined || life.listeningAt > from) return false;
  return life.blows.every(({ at, until: wokenAt }) => at > until || (wokenAt !== undefined && wokenAt < from));
}

/** How many, their median, and what 95 % of them stay below. */
export function figures(found: readonly Takeover[]): string {
  if (found.length === 0) return 'none';
  const sorted = found.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (share: number): string => `${Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)} ms`;
  return `${sorted.length}, p50 ${at(0.5)}, p95 ${at(0.95)}`;
}
