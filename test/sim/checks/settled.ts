import type { Fact } from '../facts.ts';
import type { Check, View } from './check.ts';

interface Row {
  id: string;
  status: string;
  run_state: string;
  event_seq: number;
  open_questions: number;
  outcomes: number;
  open_attempts: number;
  last_event: number;
}

/** P5: in the end every task is over or waits for an answer, whoever waited for it knows, and the file is of one piece. */
export class Settled implements Check {
  readonly promise = 'P5';

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind !== 'settled' && fact.kind !== 'answered_all') return;
    const rows = view.rows<Row>(SQL);
    // A handler that may not run twice keeps its slot while it asks, and others may have to wait for the slot.
    const asking = rows.some(({ status, run_state }) => status === 'input_required' && run_state === 'leased');
    for (const row of rows) {
      const alias = view.model.alias(row.id);
      const stuck = row.status === 'working' && !(asking && row.run_state === 'ready');
      if (stuck) yield `${alias} is still working (${row.run_state}), and nothing happens any more`;
      else if (fact.kind === 'answered_all' && row.run_state !== 'done') {
        yield `${alias} is still ${row.status} (${row.run_state}) after all was answered`;
      }
      yield* problems(row, alias);
    }
    if (fact.kind !== 'answered_all') return;
    for (const call of view.calls) {
      if (call.outcome !== undefined || !view.isAlive(call.process)) continue;
      yield `${call.op} of ${view.model.alias(call.taskId ?? '')} in ${call.process} (call ${call.id}) never returned`;
    }
  }
}

function* problems(row: Row, alias: string): Iterable<string> {
  const over = ['completed', 'failed', 'cancelled'].includes(row.status);
  if (over !== (row.run_state === 'done')) yield `${alias} is ${row.status} but ${row.run_state}`;
  if (!over && (row.status === 'input_required') !== row.open_questions > 0) {
    yield `${alias} is ${row.status} with ${row.open_questions} open questions`;
  }
  const outcomes = over && row.status !== 'cancelled' ? 1 : 0;
  if (row.outcomes !== outcomes) yield `${alias} is ${row.status} with ${row.outcomes} outcomes`;
  if (row.open_attempts !== (row.run_state === 'leased' ? 1 : 0)) {
    yield `${alias} is ${row.run_state} with ${row.open_attempts} attempts under way`;
  }
  if (row.last_event > row.event_seq)
    yield `${alias} has an event numbered ${row.last_event} and counts ${row.event_seq}`;
}

const SQL = `select id, status, run_state, event_seq,
  (select count(*) from input_requests where task_id = id and answered_at is null) as open_questions,
  (select count(*) from task_payloads where task_row = row_id and kind in ('result', 'error')) as outcomes,
  (select count(*) from attempts where task_row = row_id and ended_at is null) as open_attempts,
  (select max(seq) from events where task_row = row_id) as last_event
  from tasks`;
