import type { Principal, TaskId, TaskRecord } from '../../../core/index.ts';
import type { History, LogEntry, LostLease, PastAttempt, RecordedQuestion, TaskPulse } from '../../store.ts';
import { ownerColumns, toInputRequests, toQuestion, toRecord } from '../rows.ts';
import { all, type Command, one } from '../statement.ts';
import type { Statements } from '../statements.ts';

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
  return rows.map(({ attempt, started_at, ended_at, outcome, error }) => ({
    attempt,
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

export function* readLog(
  q: Statements,
  taskId: TaskId,
  afterSeq: number,
  limit: number,
): Command<(LogEntry & { seq: number })[]> {
  const rows = yield* all(q.readLog, { id: taskId, after: afterSeq, limit });
  return rows.map(({ seq, level, text, at }) => ({ seq, level: level as LogEntry['level'], text, at }));
}

export function* lostLeases(q: Statements, limit: number, now: number): Command<LostLease[]> {
  const lost: LostLease[] = [];
  for (const row of yield* all(q.listLost, { now, limit })) {
    const records = yield* one(q.hasRecords, { id: row.id });
    lost.push({
      taskId: row.id,
      fence: row.fence,
      attempt: row.attempt,
      maxAttempts: row.max_attempts,
      rule: row.on_worker_lost as LostLease['rule'],
      hasRecords: records?.found === 1,
      workerId: row.lease_owner ?? '',
    });
  }
  return lost;
}
