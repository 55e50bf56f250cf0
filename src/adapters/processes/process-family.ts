import type { Clock } from '../../core/index.ts';
import {
  isAlive,
  machine,
  type ProcessIdentity,
  type ProcessRow,
  type ProcessTable,
  processTable,
} from './process-table.ts';

export interface EndOptions {
  clock: Clock;
  /** How long the processes may take to end after SIGTERM, in milliseconds, before SIGKILL. */
  termGraceMs: number;
  /** Processes seen to belong to the family before, which cannot be found through their parents any more. */
  known?: readonly ProcessIdentity[];
  /** Finds others that belong to it, in some other way; asked a few times, since more may come while it ends. */
  more?: () => readonly ProcessIdentity[];
}

export interface FamilyEnd {
  /** How many had to be killed after SIGTERM did not help. */
  killed: number;
  /** Those that are there still: the system does not let go of them, or they are not ours to signal. */
  left: readonly ProcessIdentity[];
}

/** How often it is looked who is there still. */
const LOOK_MS = 20;
/** After SIGKILL a process is gone as soon as the system lets it; some wait for a disk or a network share. */
const KILL_WAIT_MS = 2_000;

/**
 * A process that was started as the leader of a session, and all that came of it: whatever is in its session or its group,
 * and their descendants wherever those went. The leader itself may be gone. Empty where its number belongs to somebody else
 * by now: while anybody was left of a family, nobody else could have got it.
 */
export function familyOf(
  leader: ProcessIdentity,
  table: ProcessTable = processTable(),
  known: readonly ProcessIdentity[] = [],
): ProcessIdentity[] {
  const here = machine();
  if (leader.boot !== here.boot || leader.namespace !== here.namespace) return [];
  const there = table.get(leader.pid);
  const recycled = there !== undefined && there.started !== leader.started;
  const found = new Map<number, ProcessRow>();
  for (const row of table.values()) {
    const belongs = !recycled && (row.pid === leader.pid || row.session === leader.pid || row.group === leader.pid);
    const remembered = known.some(({ pid, started }) => pid === row.pid && started === row.started);
    if (belongs || remembered) found.set(row.pid, row);
  }
  // Whoever left the session is still somebody's child, unless that one ended.
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const row of table.values()) if (found.has(row.parent)) found.set(row.pid, row);
  }
  found.delete(process.pid);
  return [...found.values()]
    .filter(({ zombie, pid }) => !zombie && pid > 1)
    .map(({ pid, started }) => ({ pid, started, ...here }));
}

/** Ends a family: SIGTERM to all of it, and SIGKILL to whoever is left after the grace, also to what was forked meanwhile. */
export async function endFamily(leader: ProcessIdentity, options: EndOptions): Promise<FamilyEnd> {
  const { clock, termGraceMs, more = () => [] } = options;
  const known = new Map((options.known ?? []).map((one) => [one.pid, one]));
  const find = (): void => {
    for (const one of more()) known.set(one.pid, one);
  };
  const living = (): ProcessIdentity[] => {
    const family = familyOf(leader, processTable(), [...known.values()]);
    for (const one of family) known.set(one.pid, one);
    return family;
  };

  const alive = setInterval(() => {}, 60_000); // Timers of the clock do not keep this process here until all is over.
  try {
    find();
    for (const one of living()) signalTo(one, 'SIGTERM');
    let left = await waitUntilGone(living, clock, termGraceMs);
    find();
    left = living();
    const killed = left.length;
    const until = clock.monotonic() + KILL_WAIT_MS;
    while (left.length > 0 && clock.monotonic() < until) {
      for (const one of left) signalTo(one, 'SIGKILL');
      left = await waitUntilGone(living, clock, LOOK_MS);
      if (left.length > 0) continue;
      find();
      left = living();
    }
    return { killed, left };
  } finally {
    clearInterval(alive);
  }
}

async function waitUntilGone(
  living: () => ProcessIdentity[],
  clock: Clock,
  graceMs: number,
): Promise<readonly ProcessIdentity[]> {
  const until = clock.monotonic() + graceMs;
  for (;;) {
    const left = living();
    if (left.length === 0 || clock.monotonic() >= until) return left;
    await new Promise<void>((resolve) => clock.setTimer(LOOK_MS, resolve));
  }
}

/** Never to somebody who only has its number: looked at right before. */
export function signalTo(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch {
    // It ended in between, or is not ours to signal: whoever is left is told.
  }
}
