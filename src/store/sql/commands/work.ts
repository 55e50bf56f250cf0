import {
  type JsonValue,
  type NewTask,
  type StoreFailedError,
  StoreSealedError,
  type TaskId,
  type TerminalState,
} from '../../../core/index.ts';
import type { Applied, ClaimedTask, ClaimOptions, Lease, NewStep, Release, TaskReport } from '../../store.ts';
import { places } from '../places.ts';
import { keyed, parseJson, toInputRequests, toLease, toQuestion, toRecord } from '../rows.ts';
import type { RunState } from '../schema.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { ClaimRow, Statements } from '../statements.ts';
import { doesNotOpen, type Kept, nameOf, plain, type Vault } from '../vault.ts';
import { end, heldRow } from './end.ts';
import { setWaiting } from './input.ts';
import { insertEvent } from './payload.ts';

/** One task that cannot be read back must not keep its worker from the others, again and again. */
const DAMAGED: TerminalState = {
  status: 'failed',
  error: { code: -32_603, message: 'the task store is damaged: what was kept of this task cannot be read' },
};
/** How long a task whose key is not here is left to others, who may have it. */
const SET_ASIDE_MS = 10_000;

/** What came of tasks that were ready and could not be claimed, as they cannot be read. */
export interface Unclaimed {
  /** They were damaged, and have failed. */
  ended: TaskId[];
  /** Why, where their payloads do not open. */
  shut: { taskId: TaskId; error: StoreSealedError | StoreFailedError }[];
}

/** @param unclaimed is told of tasks that cannot be read back */
export function* claim(
  q: Statements,
  taskIds: readonly TaskId[],
  options: ClaimOptions,
  now: number,
  unclaimed: Unclaimed,
): Command<ClaimedTask[]> {
  const claimed: ClaimedTask[] = [];
  if (q.vault.isLocked) return claimed; // They are others' to work on.
  for (const id of taskIds) {
    const row = yield* one(q.claim, { id, worker: options.workerId, until: now + options.leaseMs, now });
    if (row === undefined) continue; // Somebody else was quicker, or it is over.
    const lease = toLease(row);
    const input = yield* one(q.readPayload, { id, kind: 'input' });
    const prepared = yield* one(q.readPayload, { id, kind: 'prepared' });
    const questions = row.status === 'input_required' ? yield* all(q.listQuestions, { id }) : [];
    const task = claimedTask(q.vault, { row, lease, input: input?.body, prepared: prepared?.body, questions });
    if (task instanceof Error) unclaimed.shut.push({ taskId: id, error: task });
    if (task instanceof StoreSealedError) {
      yield* run(q.setAside, { id, fence: lease.fence, until: now + SET_ASIDE_MS });
      continue;
    }
    yield* run(q.insertAttempt, { id, fence: lease.fence, attempt: lease.attempt, worker: options.workerId, now });
    if (task !== undefined && !(task instanceof Error)) {
      claimed.push(task);
      continue;
    }
    const held = yield* heldRow(q, lease);
    if (held === undefined) continue;
    if (yield* end(q, held, { outcome: DAMAGED, attempt: 'failed' }, now)) unclaimed.ended.push(id);
  }
  return claimed;
}

interface ClaimedRows {
  row: ClaimRow;
  lease: Lease;
  input: Kept | undefined;
  prepared: Kept | undefined;
  questions: Parameters<typeof toQuestion>[2][];
}

/** `undefined`, or what the vault says: the file was damaged or tampered with, and this is not what was written. */
function claimedTask(
  vault: Vault,
  { row, lease, input, prepared, questions }: ClaimedRows,
): ClaimedTask | StoreSealedError | StoreFailedError | undefined {
  const { id } = row;
  if (input === undefined) return undefined;
  try {
    return {
      lease,
      task: toRecord(vault, row, null, toInputRequests(questions.map((asked) => toQuestion(vault, id, asked)))),
      input: parseJson(vault.open(places.body(id, 'input'), input)),
      ...(prepared !== undefined && { prepared: parseJson(vault.open(places.body(id, 'prepared'), prepared)) }),
      abilities: JSON.parse(row.client_capabilities ?? '{"form":false}') as NewTask['abilities'],
      ...(row.timeout_ms !== null && { timeoutMs: row.timeout_ms }),
      activeMs: row.active_ms,
      ...(row.tool_version !== null && { toolVersion: row.tool_version }),
      ...(row.traceparent !== null && { traceparent: vault.open(places.ofTask(id, 'traceparent'), row.traceparent) }),
    };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    if (doesNotOpen(error)) return error;
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
  const error = how.to === 'retry' ? q.vault.seal(places.attemptError(id, fence), how.error) : null;
  yield* run(q.endAttempt, { id, fence, outcome, error, now });
  const type = ({ parked: 'parked', ready: 'released', retry: 'retry_scheduled' } as const)[how.to];
  const body = next.availableAt > now ? { until: next.availableAt } : null;
  yield* insertEvent(q, { id, seq: row.event_seq + 1, type, body, now });
  return 'applied';
}

/** Brings forward the time at which a task may be taken. */
export function* wake(q: Statements, taskId: TaskId, now: number): Command<boolean> {
  return (yield* run(q.wake, { id: taskId, now })) > 0;
}

function* anyAnswered(q: Statements, id: TaskId, keys: readonly string[]): Command<boolean> {
  if (keys.length === 0) return false;
  const questions = yield* all(q.listQuestions, { id });
  const names = new Set(keys.flatMap((key) => [key, nameOf(q.vault.digest('question', id, key))]));
  return questions.some(({ request_key, answer }) => answer !== null && names.has(nameOf(request_key)));
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
  yield* insertEvent(q, { id: lease.taskId, seq: row.event_seq + 1, type, body, now });
  return 'applied';
}

export function* recordStep(q: Statements, lease: Lease, step: NewStep, now: number): Command<Applied> {
  const { name, ordinal, seq, body, error } = step;
  const { vault } = q;
  const { taskId: id, fence } = lease;
  const key = vault.digest('step', id, step.key);
  const place = { id, fence, key, plain: plain(step.key), now };
  const sealed = body === null ? null : vault.seal(places.stepValue(id, step.key), body);
  if (step.replaces === true && (yield* run(q.replaceStep, { ...place, body: sealed })) > 0) return 'applied';
  // Checks the lease as well. A step needs no row among the events: its own tells all the timeline has to.
  if ((yield* run(q.takeEventSeq, { id, fence })) === 0) return 'lost';
  const inserted = yield* run(q.insertStep, {
    ...place,
    name: vault.seal(places.stepName(id, nameOf(key)), keyed(vault, step.key, name)),
    ordinal,
    seq,
    body: sealed,
    error: error === undefined ? null : vault.seal(places.stepError(id, step.key), error),
  });
  return inserted === 1 ? 'applied' : 'refused';
}

export function* report(q: Statements, lease: Lease, news: TaskReport, now: number): Command<Applied> {
  const { taskId: id, fence } = lease;
  const { progress, statusMessage, pollIntervalMs } = news;
  const sealed = (column: 'progress' | 'status_message', text: string | undefined) =>
    text === undefined ? null : q.vault.seal(places.ofTask(id, column), text);
  const changed = yield* run(q.report, {
    id,
    fence,
    progress: sealed('progress', progress && JSON.stringify(progress)),
    message: sealed('status_message', statusMessage),
    pollMs: pollIntervalMs ?? null,
    now,
  });
  if (changed === 0) return 'lost';
  if (news.waiting !== undefined) yield* setWaiting(q, lease, news.waiting, now);
  return 'applied';
}
