import { StoreFailedError, type TaskId, type TerminalState } from '../../../core/index.ts';
import { places } from '../places.ts';
import { forTask } from '../rows.ts';
import { type Command, one, run } from '../statement.ts';
import type { NewTaskRow, Statements } from '../statements.ts';
import { type Ending, end } from './end.ts';
import { insertEvent, insertKept } from './payload.ts';

/** A new task like the old one, as if its request had come again; each says in its timeline which the other is. */
export function* requeue(
  q: Statements,
  taskId: TaskId,
  as: TaskId,
  now: number,
): Command<'requeued' | 'still_open' | 'held' | undefined> {
  const old = yield* one(q.readFull, { id: taskId });
  if (old === undefined) return undefined;
  if (old.run_state !== 'done') return 'still_open'; // Two of one request at once is what nobody asked for.
  if (old.on_worker_lost === 'held') return 'held';
  const { row_id: _ours, ...columns } = old;
  const row: NewTaskRow = {
    ...forTask(q.vault, columns, as),
    status: 'working',
    run_state: 'ready',
    status_message: null,
    progress: null,
    cancel_reason: null,
    version: 1,
    event_seq: 1,
    log_bytes: 0,
    fence: 0,
    attempt: 0,
    lease_owner: null,
    lease_until: null,
    leased_at: null,
    available_at: now,
    cancel_requested_at: null,
    created_at: now,
    updated_at: now,
    expires_at: old.ttl_ms === null ? null : now + old.ttl_ms,
    terminal_at: null,
    delete_at: null,
    active_ms: 0,
    next_poll_at: null,
  };
  yield* run(q.insertTask, row);
  for (const kind of ['input', 'prepared'] as const) {
    const payload = yield* one(q.readPayload, { id: taskId, kind });
    if (payload !== undefined) {
      yield* insertKept(q, as, kind, q.vault.moved(places.body(taskId, kind), payload.body, places.body(as, kind)));
    } else if (kind === 'input') {
      throw new StoreFailedError('the task store is damaged: the task has no arguments; restore a backup');
    }
  }
  yield* insertEvent(q, { id: as, seq: 1, type: 'created', body: { requeuedFrom: taskId }, now });
  yield* run(q.bumpEvent, { id: taskId });
  yield* insertEvent(q, { id: taskId, seq: old.event_seq + 1, type: 'requeued', body: { as }, now });
  return 'requeued';
}

/** Cancels those that are open, whoever's they are. */
export function* cancelTasks(
  q: Statements,
  taskIds: readonly TaskId[],
  reason: string,
  by: string,
  now: number,
): Command<TaskId[]> {
  const outcome: TerminalState = { status: 'cancelled', reason };
  const ending: Ending = { outcome, attempt: 'cancelled', by };
  const cancelled: TaskId[] = [];
  for (const id of taskIds) {
    const row = yield* one(q.readControl, { id });
    if (row !== undefined && (yield* end(q, row, ending, now))) cancelled.push(id);
  }
  return cancelled;
}

/** Ends the task if it is open, and hides it from everybody; the sweeper would do the rest. False: there is none. */
export function* hide(q: Statements, taskId: TaskId, now: number): Command<boolean> {
  yield* cancelTasks(q, [taskId], 'deleted by an operator', 'operator', now);
  return (yield* run(q.hide, { id: taskId, now })) === 1;
}
