import type { Clock, TaskId, TerminalState } from '../../core/index.ts';
import * as commands from './commands/index.ts';
import type { CommandRunner } from './operations.ts';
import type { Statements } from './statements.ts';
import { turn } from './turn.ts';

/** The most transactions of one sweep that delete: the next one goes on, and whoever sweeps has other things to do. */
const MAX_PIECES = 32;

export interface Sweep {
  /** The most tasks that are ended, and the most that are deleted. */
  limit: number;
  /** How those end whose TTL is over. */
  expired: TerminalState;
  graceMs: number;
}

/**
 * Deletes what is past its keeping and ends what is past its TTL, in pieces small enough that others get their turn in
 * between: a task can have a log of many megabytes. Nothing is written, and no lock taken, where there is nothing to do.
 */
export async function sweep(
  runner: CommandRunner,
  q: Statements,
  clock: Clock,
  { limit, expired, graceMs }: Sweep,
): Promise<{ expired: TaskId[]; deleted: number }> {
  const due = await runner.read(() => commands.due(q, clock.now()));
  let deleted = 0;
  let more = due.deletable;
  for (let piece = 0; more && piece < MAX_PIECES && deleted < limit; piece += 1) {
    if (piece > 0) await turn();
    const left = limit - deleted;
    // What a power cut brings back is as hidden as before, and is found again.
    const erased = await runner.write(() => commands.eraseDue(q, left, clock.now()), { flush: false });
    deleted += erased.deleted;
    more = erased.more;
  }
  if (!due.expired || q.vault.isLocked) return { expired: [], deleted }; // Without keys, no end can be written.
  // Last, so that whoever asked learns of the ends as soon as they are decided.
  const ended = await runner.write(() => commands.expire(q, limit, expired, graceMs, clock.now()), {
    flush: true, // An end that was seen must not come undone by a power cut.
    changed: (taskIds) => taskIds,
  });
  return { expired: ended, deleted };
}
