// What is known of one task from all sides, in the shape the checks want it.
import type { Json } from '../support/messages.ts';
import type { Life } from './fleet.ts';
import type { Entry } from './ledger.ts';
import type { Followed } from './requestor.ts';

/** `lost`: something acknowledged is gone; `doubled`: something ran that must not; `stuck`: it ought to have moved. */
export interface Violation {
  kind: 'lost' | 'doubled' | 'stuck' | 'wrong';
  taskId: string;
  sentence: string;
}

/** One run of a handler, as its own notes tell it. */
export interface Run {
  readonly life: Life;
  readonly startedAt: number;
  readonly entries: readonly Entry[];
  /** When it told of its end, was told to stop, or its process was ended; undefined while it may go on. */
  readonly overAt: number | undefined;
}

/** A lease, as the server remembers it. */
export interface Attempt {
  outcome?: string;
  /** Of the process that had the lease; undefined for one of another fleet. */
  life: Life | undefined;
}

export interface Evidence {
  readonly task: Followed;
  /** The task as it was read when all was quiet. */
  readonly seen: Json;
  readonly notes: readonly Entry[];
  /** In the order in which they began. */
  readonly runs: readonly Run[];
  readonly attempts: readonly Attempt[];
}

export function evidenceOf(
  task: Followed,
  seen: Json,
  notes: readonly Entry[],
  lives: readonly Life[],
  past: readonly { worker: string; outcome?: string }[],
): Evidence {
  const byName = new Map(lives.map((life) => [life.name, life]));
  const byPid = new Map(lives.map((life) => [life.pid, life])); // Of lives with one pid, the last.
  const attempts = past.map(({ worker, outcome }) => ({
    life: byPid.get(Number(worker.split(':')[1])),
    ...(outcome !== undefined && { outcome }),
  }));
  return { task, seen, notes, runs: runsOf(notes, byName), attempts };
}

function runsOf(notes: readonly Entry[], lives: ReadonlyMap<string, Life>): Run[] {
  const entries = new Map<string, Entry[]>();
  for (const entry of notes) entries.set(entry.run, [...(entries.get(entry.run) ?? []), entry]);
  const runs = [...entries.values()].flatMap((own): Run[] => {
    const started = own.find(({ what }) => what === 'started');
    const life = lives.get(own[0]?.life ?? '');
    if (started === undefined || life === undefined) return [];
    const ends = own.filter(({ what }) => what === 'told' || what === 'returned' || what === 'threw');
    const times = ends.map(({ at }) => at);
    for (const { kind, at } of life.blows) if (kind === 'killed' || kind === 'crashed') times.push(at);
    if (life.endedAt !== undefined) times.push(life.endedAt);
    const overAt = times.length === 0 ? undefined : Math.min(...times);
    return [{ life, startedAt: started.at, entries: own, overAt }];
  });
  return runs.sort((a, b) => a.startedAt - b.startedAt);
}

/** The process stood still while the run was under way, at some time before `until`: it could not know what went on. */
export function stoodStill(run: Run, until: number): boolean {
  return run.life.blows.some(
    (blow) => blow.kind === 'stopped' && blow.at <= until && (blow.until ?? Number.POSITIVE_INFINITY) >= run.startedAt,
  );
}

/** Something was done to the run's process before `until` that may end the run. */
export function struck(run: Run, until: number): boolean {
  return stoodStill(run, until) || run.life.blows.some(({ kind, at }) => kind !== 'stopped' && at <= until);
}
