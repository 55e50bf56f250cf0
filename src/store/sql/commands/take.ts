import type { Taken, TakeOptions } from '../../store.ts';
import { all, type Command, one } from '../statement.ts';
import type { ReadyRow, Statements } from '../statements.ts';

/** More principals than this wait their turn: each call begins where the last one ended. */
const MAX_PRINCIPALS = 32;

/** Where the next round over the principals begins. */
export interface Turn {
  tenant: string;
  principal: string;
}

export const FIRST_TURN: Turn = { tenant: '', principal: '' };

/**
 * Tasks that look ready, a fair share for each principal: one with ten thousand tasks does not hide another's one. The
 * cost depends on how many principals wait, not on how many tasks.
 */
export function* take(
  q: Statements,
  options: TakeOptions,
  turn: Turn,
  now: number,
): Command<{ taken: Taken; turn: Turn }> {
  const names = JSON.stringify(options.names);
  const { principals, next } = yield* waiting(q, turn, now);
  const share = Math.ceil(options.limit / Math.max(1, principals.length));
  const queues: ReadyRow[][] = [];
  for (const owner of principals) queues.push(yield* all(q.listReady, { ...owner, names, now, limit: share }));
  const upcoming = yield* one(q.nextReady, { now });
  return {
    taken: {
      tasks: interleave(queues, options.limit),
      ...(upcoming?.at !== undefined && upcoming.at !== null && { nextAt: upcoming.at }),
    },
    turn: next,
  };
}

/** Principals with something ready, from `turn` on and round again. */
function* waiting(q: Statements, turn: Turn, now: number): Command<{ principals: Turn[]; next: Turn }> {
  const principals: Turn[] = [];
  let after = turn;
  for (let wrapped = false; principals.length < MAX_PRINCIPALS; ) {
    const found = yield* one(q.nextPrincipal, after);
    if (found === undefined) {
      if (wrapped || isFirst(turn)) break;
      wrapped = true;
      after = FIRST_TURN;
      continue;
    }
    if (wrapped && !precedes(found, turn)) break; // Round once.
    const { tenant, principal } = found;
    after = { tenant, principal };
    if (found.available_at <= now) principals.push(after); // The index gives the earliest first.
  }
  return { principals, next: principals.length < MAX_PRINCIPALS ? FIRST_TURN : after };
}

function isFirst(turn: Turn): boolean {
  return turn.tenant === '' && turn.principal === '';
}

function precedes(a: Turn, b: Turn): boolean {
  return a.tenant < b.tenant || (a.tenant === b.tenant && a.principal <= b.principal);
}

/** One of each queue in turn, oldest first within each. */
function interleave(queues: ReadyRow[][], limit: number): Taken['tasks'] {
  const tasks: Taken['tasks'] = [];
  for (let depth = 0; tasks.length < limit; depth += 1) {
    const row = queues.flatMap((queue) => queue[depth] ?? []);
    if (row.length === 0) break;
    for (const { id, tool, tenant, principal } of row) {
      tasks.push({ taskId: id, name: tool, principal: { ...(tenant !== '' && { tenant }), subject: principal } });
    }
  }
  return tasks.slice(0, limit);
}
