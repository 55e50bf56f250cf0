import type { Principal, TaskId, TaskRecord } from '../../../core/index.ts';
import type { History, LostLease, PastAttempt, RecordedQuestion, TaskPulse } from '../../store.ts';
import { places } from '../places.ts';
import { ownerColumns, toInputRequests, toQuestion, toRecord, toStepName } from '../rows.ts';
import { all, type Command, one } from '../statement.ts';
import type { LeasedRow, Statements } from '../statements.ts';
import { Peek } from './peek.ts';

export function* readRecord(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  now: number,
): Command<TaskRecord | undefined> {
  const row = yield* one(q.readRecord, { id: taskId, ...ownerColumns(principal), now });
  if (row === undefined) return undefined;
  if (row.status !== 'input_required') return toRecord(q.vault, row, row.outcome, {});
  return toRecord(q.vault, row, null, toInputRequests(yield* questionsOf(q, taskId)));
}

function* questionsOf(q: Statements, taskId: TaskId): Command<RecordedQuestion[]> {
  return (yield* all(q.listQuestions, { id: taskId })).map((row) => toQuestion(q.vault, taskId, row));
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
  const questions = yield* questionsOf(q, taskId);
  return {
    steps: steps.map(({ body, error, ...row }) => {
      const { key, name } = toStepName(q.vault, taskId, row);
      return {
        key,
        name,
        body: body === null ? null : q.vault.open(places.stepValue(taskId, key), body),
        ...(error !== null && { error: q.vault.open(places.stepError(taskId, key), error) }),
      };
    }),
    questions,
  };
}

export function* pastAttempts(q: Statements, taskId: TaskId): Command<PastAttempt[]> {
  const rows = yield* all(q.listAttempts, { id: taskId });
  return rows.map(({ fence, attempt, worker, started_at, ended_at, outcome, error }) => {
    const peek = new Peek(q.vault);
    const message = peek.at(places.attemptError(taskId, fence), error);
    return {
      fence,
      attempt,
      worker,
      startedAt: started_at,
      ...(ended_at !== null && { endedAt: ended_at }),
      ...(outcome !== null && { outcome }),
      ...(message !== undefined && { error: message }),
      ...peek.note,
    };
  });
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
  const questions = yield* questionsOf(q, taskId);
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
