import type { JsonValue, NewTask, TaskId, TerminalState } from '../../../core/index.ts';
import type { Applied, ClaimedTask, ClaimOptions, Lease, NewStep, Release, TaskReport } from '../../store.ts';
import { parseJson, toInputRequests, toLease, toQuestion, toRecord } from '../rows.ts';
import type { RunState } from '../schema.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { ClaimRow, Statements } from '../statements.ts';
import { end, heldRow } from './end.ts';
import { setWaiting } from './input.ts';

/** One task that cannot be read back must not keep its worker from the others, again and again. */
const DAMAGED: TerminalState = {
  status: 'failed',
  error: { code: -32_603, message: 'the task store is damaged: what was kept of this task cannot be read' },
};

/** @param ended is given the tasks that could not be read back, and have failed */
export function* claim(
  q: Statements,
  taskIds: readonly TaskId[],
  options: ClaimOptions,
  now: number,
  ended: TaskId[],
): Command<ClaimedTask[]> {
  const claimed: ClaimedTask[] = [];
  for (const id of taskIds) {
    const row = yield* one(q.claim, { id, worker: options.workerId, until: now + options.leaseMs, now });
    if (row === undefined) continue; // Somebody else was quicker, or it is over.
    const lease = toLease(row);
    yield* run(q.insertAttempt, { id, fence: lease.fence, attempt: lease.attempt, worker: options.workerId, now });
    const input = yield* one(q.readPayload, { id, kind: 'input' });
    const prepared = yield* one(q.readPayload, { id, kind: 'prepared' });
    const questions = row.status === 'input_required' ? yield* all(q.listQuestions, { id }) : [];
    const task = claimedTask({ row, lease, input: input?.body, prepared: prepared?.body, questions });
    if (task !== undefined) {
      claimed.push(task);
      continue;
    }
    const held = yield* heldRow(q, lease);
    if (held !== undefined && (yield* end(q, held, { outcome: DAMAGED, attempt: 'failed' }, now))) ended.push(id);
  }
  return claimed;
}

interface ClaimedRows {
  row: ClaimRow;
  lease: Lease;
  input: string | undefined;
  prepared: string | undefined;
  questions: Parameters<typeof toQuestion>[0][];
}

/** `undefined`: the file was damaged or tampered with, and this is not what was written. */
function claimedTask({ row, lease, input, prepared, questions }: ClaimedRows): ClaimedTask | undefined {
  if (input === undefined) return undefined;
  try {
    return {
      lease,
      task: toRecord(row, null, toInputRequests(questions.map(toQuestion))),
      input: parseJson(input),
      ...(prepared !== undefined && { prepared: parseJson(prepared) }),
      abilities: JSON.parse(row.client_capabilities ?? '{"form":false}') as NewTask['abilities'],
      ...(row.timeout_ms !== null && { timeoutMs: row.timeout_ms }),
      activeMs: row.active_ms,
      ...(row.tool_version !== null && { toolVersion: row.tool_version }),
    };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function* renew(q: Statements, leases: readonly Lease[], leaseMs: number, now: number): Command<TaskId[]> {
  const lost: TaskId[] = [];
  for (const { taskId, fence } of leases) {
    if ((yield* run(q.renew, { id: taskId, fence, until: now + leaseMs })) === 0) lost.push(taskId);
  }
  return lost;
}

export function* release(q: Statements, lease: Lease, how: Release, activeMs: number, now: number): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  const { taskId: id, fence } = lease;
  const next = afterRelease(how, row.status === 'input_required', now);
  // An answer that came while the handler was being put away must not wait for another one, or for the time to wake.
  if (how.to === 'parked' && (yield* anyAnswered(q, id, how.questions ?? []))) {
    next.runState = 'ready';
    next.availableAt = now;
  }
  yield* run(q.release, { id, fence, ...next, givenBack: how.to === 'retry' ? 0 : 1, activeMs });
  const outcome = how.to === 'retry' ? 'failed' : how.to === 'parked' ? 'parked' : 'released';
  yield* run(q.endAttempt, { id, fence, outcome, error: how.to === 'retry' ? how.error : null, now });
  const type = ({ parked: 'parked', ready: 'released', retry: 'retry_scheduled' } as const)[how.to];
  const body = next.availableAt > now ? JSON.stringify({ until: next.availableAt }) : null;
  yield* run(q.insertEvent, { id, seq: row.event_seq + 1, type, body, now });
  return 'applied';
}

function* anyAnswered(q: Statements, id: TaskId, keys: readonly string[]): Command<boolean> {
  if (keys.length === 0) return false;
  const questions = yield* all(q.listQuestions, { id });
  return questions.some(({ request_key, answer }) => answer !== null && keys.includes(request_key));
}

/** Who is to move next, and from when on. */
function afterRelease(how: Release, waiting: boolean, now: number): { runState: RunState; availableAt: number } {
  switch (how.to) {
    case 'ready':
      return { runState: 'ready', availableAt: how.availableAt ?? now };
    case 'retry':
      return { runState: 'ready', availableAt: how.availableAt };
    case 'parked':
      // A time to wake at is a time to be taken at; an answer brings it forward.
      if (how.wakeAt !== undefined) return { runState: 'ready', availableAt: how.wakeAt };
      // An answer that came while the handler was being put away must not wait for another one.
      return { runState: waiting ? 'parked' : 'ready', availableAt: now };
  }
}

export function* note(q: Statements, lease: Lease, type: string, body: JsonValue, now: number): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  yield* run(q.bumpEvent, { id: lease.taskId });
  yield* run(q.insertEvent, { id: lease.taskId, seq: row.event_seq + 1, type, body: JSON.stringify(body), now });
  return 'applied';
}

export function* recordStep(q: Statements, lease: Lease, step: NewStep, now: number): Command<Applied> {
  const { key, name, ordinal, seq, body, error = null } = step;
  const { taskId: id, fence } = lease;
  // Checks the lease as well. A step needs no row among the events: its own tells all the timeline has to.
  if ((yield* run(q.takeEventSeq, { id, fence })) === 0) return 'lost';
  const inserted = yield* run(q.insertStep, { id, fence, key, name, ordinal, seq, body, error, now });
  return inserted === 1 ? 'applied' : 'refused';
}

export function* report(q: Statements, lease: Lease, news: TaskReport, now: number): Command<Applied> {
  const changed = yield* run(q.report, {
    id: lease.taskId,
    fence: lease.fence,
    progress: news.progress === undefined ? null : JSON.stringify(news.progress),
    message: news.statusMessage ?? null,
    now,
  });
  if (changed === 0) return 'lost';
  if (news.waiting !== undefined) yield* setWaiting(q, lease, news.waiting, now);
  return 'applied';
}
