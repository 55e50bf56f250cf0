import type { Principal, TaskId, TaskRecord } from '../../../core/index.ts';
import type { History, LostLease, PastAttempt, RecordedQuestion, TaskPulse } from '../../store.ts';
import { ownerColumns, toInputRequests, toQuestion, toRecord } from '../rows.ts';
import { all, type Command, one } from '../statement.ts';
import type { LeasedRow, Statements } from '../statements.ts';

export function* readRecord(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  now: number,
): Command<TaskRecord | undefined> {
  const row = yield* one(q.readRecord, { id: taskId, ...ownerColumns(principal), now });
  if (row === undefined) return undefined;
  if (row.status !== 'input_required') return toRecord(row, row.outcome, {});
  const questions = (yield* all(q.listQuestions, { id: taskId })).map(toQuestion);
  return toRecord(row, null, toInputRequests(questions));
}

export function* findByRequestorId(
  q: Statements,
  requestorTaskId: string,
  principal: Principal,
): Command<TaskId | undefined> {
  const row = yield* one(q.findRequestorTask, { ...ownerColumns(principal), requestorTaskId });
  return row?.id;
}

export function* history(q: Statements, taskId: TaskId): Command<History> {
  const steps = yield* all(q.listSteps, { id: taskId });
  const questions = yield* all(q.listQuestions, { id: taskId });
  return {
    steps: steps.map(({ step_key, name, body, error }) => ({
      key: step_key,
      name,
      body,
      ...(error !== null && { error }),
    })),
    questions: questions.map(toQuestion),
  };
}

export function* pastAttempts(q: Statements, taskId: TaskId): Command<PastAttempt[]> {
  const rows = yield* all(q.listAttempts, { id: taskId });
  return rows.map(({ fence, attempt, worker, started_at, ended_at, outcome, error }) => ({
    fence,
    attempt,
    worker,
    startedAt: started_at,
    ...(ended_at !== null && { endedAt: ended_at }),
    ...(outcome !== null && { outcome }),
    ...(error !== null && { error }),
  }));
}

export function* pulses(q: Statements, taskIds: readonly TaskId[]): Command<TaskPulse[]> {
  const found: TaskPulse[] = [];
  for (const id of taskIds) {
    const row = yield* one(q.readPulse, { id });
    if (row !== undefined) found.push({ taskId: id, status: row.status, fence: row.fence, version: row.version });
  }
  return found;
}

export function* openQuestions(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  now: number,
): Command<RecordedQuestion[] | undefined> {
  const row = yield* one(q.readOwnedControl, { id: taskId, ...ownerColumns(principal), now });
  if (row === undefined) return undefined;
  if (row.status !== 'input_required') return [];
  const questions = (yield* all(q.listQuestions, { id: taskId })).map(toQuestion);
  return questions.filter(({ answer }) => answer === undefined);
}

/** Ids of workers that hold leases. */
export function* leaseOwners(q: Statements): Command<string[]> {
  const rows = yield* all(q.listLeaseOwners, {});
  return rows.flatMap(({ lease_owner }) => (lease_owner === null ? [] : [lease_owner]));
}

/** Leases that ran out, and every lease of the dead. */
export function* lostLeases(
  q: Statements,
  workers: ReadonlyMap<string, LostLease['worker']>,
  limit: number,
  now: number,
): Command<LostLease[]> {
  const rows = new Map<string, LeasedRow>();
  for (const row of yield* all(q.listOverdue, { now, limit })) rows.set(row.id, row);
  for (const [worker, state] of workers) {
    if (state !== 'dead') continue;
    for (const row of yield* all(q.listLeasedBy, { worker, limit })) rows.set(row.id, row);
  }
  const lost: LostLease[] = [];
  for (const row of rows.values()) {
    const records = yield* one(q.hasRecords, { id: row.id });
    const workerId = row.lease_owner ?? '';
    lost.push({
      taskId: row.id,
      fence: row.fence,
      attempt: row.attempt,
      maxAttempts: row.max_attempts,
      rule: row.on_worker_lost as LostLease['rule'],
      hasRecords: records?.found === 1,
      workerId,
      worker: workers.get(workerId) ?? 'unknown',
    });
  }
  return lost;
}
