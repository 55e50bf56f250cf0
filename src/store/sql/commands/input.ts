import { type Answer, type Principal, type Question, type TaskId, transition } from '../../../core/index.ts';
import type { Applied, Lease } from '../../store.ts';
import { ownerColumns, toInputRequests, toQuestion } from '../rows.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { heldRow, stateOf } from './end.ts';

export function* ask(q: Statements, lease: Lease, key: string, question: Question, now: number): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  const inserted = yield* run(q.insertQuestion, {
    id: lease.taskId,
    fence: lease.fence,
    key,
    question: JSON.stringify(question),
    now,
  });
  if (inserted === 0) return 'applied'; // Asked by an earlier run; the record stands.
  const open = toInputRequests((yield* all(q.listQuestions, { id: lease.taskId })).map(toQuestion));
  const next = transition(stateOf(row), { type: 'input_requested', inputRequests: open });
  if (!next.ok) return 'refused';
  yield* run(q.setStatus, { id: lease.taskId, status: next.state.status, runState: row.run_state, now });
  const body = JSON.stringify({ key });
  yield* run(q.insertEvent, { id: lease.taskId, seq: row.event_seq + 1, type: 'input_requested', body, now });
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
  const accepted: string[] = [];
  for (const [key, given] of answers) {
    const changed = yield* run(q.answerQuestion, {
      id: taskId,
      key,
      answer: JSON.stringify(given),
      action: given.action,
      responder: principal.subject,
      now,
    });
    if (changed === 1) accepted.push(key);
  }
  if (accepted.length === 0) return [];
  const remaining = toInputRequests((yield* all(q.listQuestions, { id: taskId })).map(toQuestion));
  const next = transition(stateOf(row), { type: 'input_received', remaining });
  if (!next.ok) return [];
  const wakes = next.state.status === 'working' && row.run_state === 'parked';
  const runState = wakes ? 'ready' : row.run_state;
  yield* run(q.setStatus, { id: taskId, status: next.state.status, runState, now });
  const body = JSON.stringify({ keys: accepted });
  yield* run(q.insertEvent, { id: taskId, seq: row.event_seq + 1, type: 'input_received', body, now });
  return accepted;
}
