import { type Answer, type Principal, type Question, type TaskId, transition } from '../../../core/index.ts';
import type { Applied, Lease } from '../../store.ts';
import { places } from '../places.ts';
import { keyed, ownerColumns, stillOpen } from '../rows.ts';
import type { RunState } from '../schema.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { ControlRow, Statements } from '../statements.ts';
import { type Kept, nameOf, plain } from '../vault.ts';
import { heldRow, stateOf } from './end.ts';
import { insertEvent } from './payload.ts';

export function* ask(
  q: Statements,
  lease: Lease,
  key: string,
  question: Question,
  deadline: number | undefined,
  now: number,
): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  const { taskId: id, fence } = lease;
  const names = namesOf(q, id, key);
  const text = keyed(q.vault, key, JSON.stringify(question));
  const kept = q.vault.seal(places.question(id, nameOf(names.key)), text);
  const inserted = yield* run(q.insertQuestion, {
    id,
    fence,
    ...names,
    question: kept,
    deadline: deadline ?? null,
    now,
  });
  if (inserted === 0) return 'applied'; // Asked by an earlier run; the record stands.
  const open = stillOpen(yield* all(q.listQuestions, { id }));
  const next = transition(stateOf(row), { type: 'input_requested', inputRequests: open });
  if (!next.ok) return 'refused';
  yield* run(q.setStatus, { id, status: next.state.status, runState: row.run_state, now });
  yield* insertEvent(q, { id, seq: row.event_seq + 1, type: 'input_requested', body: { key }, now });
  return 'applied';
}

/** The task waits, or works again, though nothing was asked or answered that is recorded. */
export function* setWaiting(q: Statements, lease: Lease, waiting: boolean, now: number): Command<void> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return;
  const open = stillOpen(yield* all(q.listQuestions, { id: row.id }));
  const next = transition(
    stateOf(row, open),
    waiting ? { type: 'input_requested', inputRequests: open } : { type: 'input_received', remaining: open },
  );
  if (!next.ok || next.state.status === row.status) return;
  yield* run(q.setStatus, { id: row.id, status: next.state.status, runState: row.run_state, now });
  const type = waiting ? 'input_requested' : 'input_received';
  yield* insertEvent(q, { id: row.id, seq: row.event_seq + 1, type, body: null, now });
}

/** What a question's row is looked up by: a digest of its key, or the key where it was asked before payloads were sealed. */
function namesOf({ vault }: Statements, id: TaskId, key: string): { key: Kept; plain: Kept } {
  return { key: vault.digest('question', id, key), plain: plain(key) };
}

function answerColumns({ vault }: Statements, id: TaskId, key: string, given: Answer): { answer: Kept; action: Kept } {
  return {
    answer: vault.seal(places.answer(id, key), JSON.stringify(given)),
    action: vault.seal(places.action(id, key), given.action),
  };
}

export function expireQuestion(q: Statements, lease: Lease, key: string, now: number): Command<Applied> {
  return closeQuestion(q, lease, key, { statement: q.expireQuestion, type: 'input_expired' }, now);
}

export function withdrawQuestion(q: Statements, lease: Lease, key: string, now: number): Command<Applied> {
  return closeQuestion(q, lease, key, { statement: q.withdrawQuestion, type: 'input_withdrawn' }, now);
}

function* closeQuestion(
  q: Statements,
  lease: Lease,
  key: string,
  { statement, type }: { statement: Statements['withdrawQuestion']; type: string },
  now: number,
): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  const id = lease.taskId;
  const expired = answerColumns(q, id, key, { action: 'expired' });
  const changed = yield* run(statement, { id, ...namesOf(q, id, key), ...expired, now });
  if (changed === 1) yield* received(q, row, { type, keys: [key] }, row.run_state, now);
  return 'applied';
}

export function* answer(
  q: Statements,
  taskId: TaskId,
  principal: Principal,
  answers: ReadonlyMap<string, Answer>,
  now: number,
): Command<string[] | undefined> {
  const row = yield* one(q.readOwnedControl, { id: taskId, ...ownerColumns(principal), now });
  if (row === undefined) return undefined;
  if (row.status !== 'input_required') return [];
  const keys: string[] = [];
  for (const [key, given] of answers) {
    const changed = yield* run(q.answerQuestion, {
      id: taskId,
      ...namesOf(q, taskId, key),
      ...answerColumns(q, taskId, key, given),
      responder: principal.subject,
      now,
    });
    if (changed === 1) keys.push(key);
  }
  if (keys.length === 0) return [];
  // Any answer wakes a parked handler: it may be all it waits for.
  const runState = row.run_state === 'parked' ? 'ready' : row.run_state;
  yield* received(q, row, { type: 'input_received', keys, by: principal.subject }, runState, now);
  return keys;
}

/** Moves the task on after questions were closed, and notes it. */
function* received(
  q: Statements,
  row: ControlRow,
  { type, ...body }: { type: string; keys: string[]; by?: string },
  runState: RunState,
  now: number,
): Command<void> {
  const remaining = stillOpen(yield* all(q.listQuestions, { id: row.id }));
  const next = transition(stateOf(row), { type: 'input_received', remaining });
  if (!next.ok) return;
  yield* run(q.setStatus, { id: row.id, status: next.state.status, runState, now });
  yield* insertEvent(q, { id: row.id, seq: row.event_seq + 1, type, body, now });
}
