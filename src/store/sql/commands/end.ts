import {
  type InputRequests,
  type JsonObject,
  type Principal,
  type TaskEvent,
  type TaskId,
  type TaskState,
  type TerminalState,
  transition,
} from '../../../core/index.ts';
import type { Applied, Lease, LostLease } from '../../store.ts';
import { places } from '../places.ts';
import { ownerColumns } from '../rows.ts';
import type { AttemptOutcome } from '../schema.ts';
import { type Command, one, run } from '../statement.ts';
import type { ControlRow, Statements } from '../statements.ts';
import { insertBody, insertEvent } from './payload.ts';

const NO_QUESTIONS: InputRequests = {};

/** The row as the union `transition` decides over. Payloads do not take part in the decision. */
export function stateOf(row: Pick<ControlRow, 'status'>, open: InputRequests = NO_QUESTIONS): TaskState {
  switch (row.status) {
    case 'working':
      return { status: 'working' };
    case 'input_required':
      return { status: 'input_required', inputRequests: open };
    case 'completed':
      return { status: 'completed', result: {} };
    case 'failed':
      return { status: 'failed', error: { code: 0, message: '' } };
    case 'cancelled':
      return { status: 'cancelled' };
  }
}

export interface Ending {
  outcome: TerminalState;
  /** How the attempt that was running, if any, is remembered. */
  attempt: AttemptOutcome;
  /** When to forget the task, instead of at the end of its TTL. */
  deleteAt?: number;
  /** Who asked for it, if somebody did. */
  by?: string;
}

/** Ends an open task and everything that hangs on it, in one transaction. False: it was over already. */
export function* end(q: Statements, row: ControlRow, ending: Ending, now: number): Command<boolean> {
  const event: TaskEvent = { type: 'finished', outcome: ending.outcome };
  const next = transition(stateOf(row), event);
  if (!next.ok) return false;
  const { outcome } = ending;
  // A life that is over is not prolonged by its end.
  const kept = ending.deleteAt === undefined ? keepResult(row, now) : { ttlMs: row.ttl_ms, expiresAt: row.expires_at };
  const reason = outcome.status === 'cancelled' ? outcome.reason : undefined;
  const changed = yield* run(q.end, {
    id: row.id,
    fence: row.fence,
    runState: row.run_state,
    status: outcome.status,
    reason: reason === undefined ? null : q.vault.seal(places.ofTask(row.id, 'cancel_reason'), reason),
    ttlMs: kept.ttlMs,
    expiresAt: kept.expiresAt,
    deleteAt: ending.deleteAt ?? kept.expiresAt,
    now,
  });
  if (changed === 0) return false;
  if (outcome.status === 'completed') {
    yield* insertBody(q, row.id, 'result', JSON.stringify(outcome.result));
  } else if (outcome.status === 'failed') {
    yield* insertBody(q, row.id, 'error', JSON.stringify(outcome.error));
  }
  yield* insertEvent(q, { id: row.id, seq: row.event_seq + 1, ...endingEvent(ending), now });
  if (row.run_state === 'leased') {
    const error =
      outcome.status === 'failed' ? q.vault.seal(places.attemptError(row.id, row.fence), outcome.error.message) : null;
    yield* run(q.endAttempt, { id: row.id, fence: row.fence, outcome: ending.attempt, error, now });
  }
  return true;
}

/** The end as the timeline tells it: how and by whom, but neither with what result nor with what message. */
function endingEvent({ outcome, attempt, by }: Ending): { type: string; body: JsonObject | null } {
  const type = attempt === 'expired' ? 'expired' : outcome.status;
  const why = {
    ...(outcome.status === 'failed' && { code: outcome.error.code }),
    ...(outcome.status === 'completed' && outcome.result.isError === true && { isError: true }),
    ...(outcome.status === 'cancelled' && outcome.reason !== undefined && { reason: outcome.reason }),
    ...(by !== undefined && { by }),
  };
  return { type, body: Object.keys(why).length === 0 ? null : why };
}

/** A result lives at least `keepResultMs`: the TTL grows if it must, and never shrinks; see `grantedTtl` for the exception. */
function keepResult(row: ControlRow, now: number): { ttlMs: number | null; expiresAt: number | null } {
  if (row.keep_alive_ms !== null) {
    // From the moment that readers see as its end, which a clock that stepped back puts later.
    const expiresAt = Math.max(now, row.updated_at + 1) + row.keep_alive_ms;
    return { ttlMs: expiresAt - row.created_at, expiresAt };
  }
  if (row.ttl_ms === null || row.expires_at === null) return { ttlMs: null, expiresAt: null };
  const expiresAt = Math.max(row.expires_at, now + row.keep_result_ms);
  return { ttlMs: Math.max(row.ttl_ms, expiresAt - row.created_at), expiresAt };
}

export function* finish(q: Statements, lease: Lease, outcome: TerminalState, now: number): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  return (yield* end(q, row, { outcome, attempt: outcome.status }, now)) ? 'applied' : 'refused';
}

/** The task's row while `lease` holds. */
export function* heldRow(q: Statements, lease: Pick<Lease, 'taskId' | 'fence'>): Command<ControlRow | undefined> {
  const row = yield* one(q.readControl, { id: lease.taskId });
  return row?.run_state === 'leased' && row.fence === lease.fence ? row : undefined;
}

export function* cancel(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  reason: string | undefined,
  now: number,
): Command<'cancelled' | 'already_terminal' | undefined> {
  const row = yield* one(q.readOwnedControl, { id: taskId, ...ownerColumns(principal), now });
  if (row === undefined) return undefined;
  const outcome: TerminalState = { status: 'cancelled', ...(reason !== undefined && { reason }) };
  const ending: Ending = { outcome, attempt: 'cancelled', by: principal.subject };
  return (yield* end(q, row, ending, now)) ? 'cancelled' : 'already_terminal';
}

/** Cancels a task that nobody asks for any more: each request for it that breaks off takes back one. */
export function* cancelOrphan(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  reason: string,
  now: number,
): Command<'cancelled' | 'already_terminal' | undefined> {
  const key = yield* one(q.readRepeats, { id: taskId });
  if (key === undefined || key.repeats === 0) return yield* cancel(q, taskId, principal, reason, now);
  yield* run(q.takeBackRepeat, { id: taskId });
  return undefined;
}

export function* recover(
  q: Statements,
  lost: LostLease,
  decision: { action: 'run_again' } | { action: 'fail'; outcome: TerminalState },
  now: number,
): Command<Applied> {
  const row = yield* heldRow(q, lost);
  if (row === undefined) return 'lost';
  // Renewed since it was seen to have run out: its worker has it after all. The dead renew nothing.
  if (lost.worker !== 'dead' && (row.lease_until ?? 0) >= now) return 'lost';
  const records = yield* one(q.hasRecords, { id: lost.taskId });
  if ((records?.found === 1) !== lost.hasRecords) return 'lost'; // Recorded since it was seen: it may go on after all.
  if (decision.action === 'fail') {
    return (yield* end(q, row, { outcome: decision.outcome, attempt: 'lost' }, now)) ? 'applied' : 'refused';
  }
  yield* run(q.returnToReady, { id: lost.taskId, fence: lost.fence, now });
  yield* run(q.endAttempt, { id: lost.taskId, fence: lost.fence, outcome: 'lost', error: null, now });
  yield* run(q.bumpEvent, { id: lost.taskId });
  const body = { worker: lost.workerId, attempt: lost.attempt };
  yield* insertEvent(q, { id: lost.taskId, seq: row.event_seq + 1, type: 'worker_lost', body, now });
  return 'applied';
}
