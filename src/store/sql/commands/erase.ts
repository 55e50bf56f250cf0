import type { TaskId, TerminalState } from '../../../core/index.ts';
import { ROWS_AT_A_TIME } from '../erase-statements.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { end } from './end.ts';

/** What one transaction deletes: some milliseconds, in which nothing else runs. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** What a row costs beside its bytes. */
const ROW_BYTES = 1_024;
/** What a task costs that has nothing but itself. */
const TASK_BYTES = 16 * ROW_BYTES;
/** The most tasks looked at by one transaction. */
const TASKS = 100;

/** How much of a transaction is left. A payload larger than all of it gets one of its own. */
class Budget {
  #left = PIECE_BYTES;

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  allows(bytes: number): boolean {
    return bytes <= this.#left || this.#left === PIECE_BYTES;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }
}

/**
 * Deletes what there is of a task that nobody can see any more, as far as one transaction goes; true once all is gone. A
 * task that is half deleted is one whose log and records are missing: what it was given and what came of it go last.
 */
function* erase(q: Statements, id: TaskId, budget: Budget): Command<boolean> {
  for (const statement of q.eraseSome) {
    for (let deleted = ROWS_AT_A_TIME; deleted === ROWS_AT_A_TIME; ) {
      if (budget.isSpent) return false;
      const rows = yield* all(statement, { id });
      for (const { bytes } of rows) budget.spend(bytes + ROW_BYTES);
      deleted = rows.length;
    }
  }
  const payloads = (yield* one(q.payloadBytes, { id }))?.bytes ?? 0;
  if (!budget.allows(payloads)) return false;
  budget.spend(payloads + TASK_BYTES);
  for (const statement of q.eraseTask) yield* run(statement, { id });
  return true;
}

/** Deletes a piece of a hidden task; true once nothing is left. */
export function eraseTask(q: Statements, taskId: TaskId): Command<boolean> {
  return erase(q, taskId, new Budget());
}

/** Deletes a piece of what is past its time, at most `limit` tasks; `more`: there was not enough room for all of it. */
export function* eraseDue(q: Statements, limit: number, now: number): Command<{ deleted: number; more: boolean }> {
  const budget = new Budget();
  const tasks = Math.min(limit, TASKS);
  const due = yield* all(q.listDeletable, { now, limit: tasks });
  for (const [deleted, { id }] of due.entries()) {
    if (!(yield* erase(q, id, budget))) return { deleted, more: true };
  }
  return { deleted: due.length, more: due.length === tasks };
}

/** Whether `expire` or `eraseDue` would find anything. */
export function* due(q: Statements, now: number): Command<{ expired: boolean; deletable: boolean }> {
  const expired = yield* one(q.listExpired, { now, limit: 1 });
  const deletable = yield* one(q.listDeletable, { now, limit: 1 });
  return { expired: expired !== undefined, deletable: deletable !== undefined };
}

/** Ends open tasks whose TTL is over, at most `limit` of them; they can be read for `graceMs` after that. */
export function* expire(
  q: Statements,
  limit: number,
  outcome: TerminalState,
  graceMs: number,
  now: number,
): Command<TaskId[]> {
  const ended: TaskId[] = [];
  for (const { id } of yield* all(q.listExpired, { now, limit })) {
    const row = yield* one(q.readControl, { id });
    if (row === undefined) continue;
    const deleteAt = now + Math.max(graceMs, 2 * (row.poll_ms ?? 0));
    if (yield* end(q, row, { outcome, attempt: 'expired', deleteAt }, now)) ended.push(id);
  }
  return ended;
}
