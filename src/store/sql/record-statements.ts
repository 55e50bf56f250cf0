import { type Kysely, sql } from 'kysely';
import { type Fenced, fragments } from './fragments.ts';
import type { Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import type { Kept } from './vault.ts';

/** Closes a question without anybody's answer. */
interface Closing {
  id: string;
  key: Kept;
  plain: Kept;
  answer: Kept;
  action: Kept;
  now: number;
}

/** The statements of what a run can go on from: steps, and questions with their answers. */
export function recordStatements(db: Kysely<Schema>) {
  const { id, now, fence, takenEventSeq } = fragments(db);
  const close = db
    .updateTable('input_requests')
    .set({ answer: slot<Kept>('answer'), action: slot<Kept>('action'), answered_at: now })
    .where('task_id', '=', id)
    .where('request_key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
    .where('answered_at', 'is', null);
  return {
    listSteps: compile<{ id: string }, Pick<Schema['steps'], 'step_key' | 'name' | 'body' | 'error'>>(
      db.selectFrom('steps').select(['step_key', 'name', 'body', 'error']).where('task_id', '=', id).orderBy('seq'),
    ),
    /** Changes nothing where the step has a record, under a digest of its key or, from before payloads were sealed, the key. */
    insertStep: compile<
      Fenced & {
        key: Kept;
        plain: Kept;
        name: Kept;
        ordinal: number;
        seq: number;
        body: Kept | null;
        error: Kept | null;
        now: number;
      }
    >(
      db
        .insertInto('steps')
        .columns([
          'task_id',
          'step_key',
          'name',
          'ordinal',
          'seq',
          'fence',
          'body',
          'error',
          'started_at',
          'ended_at',
          'event_seq',
        ])
        .expression(
          sql`select ${id}, ${slot('key')}, ${slot('name')}, ${slot('ordinal')}, ${slot('seq')}, ${fence}, ${slot('body')},
            ${slot('error')}, null, ${now}, ${takenEventSeq}
            where not exists (select 1 from steps where task_id = ${id} and step_key in (${slot('key')}, ${slot('plain')}))`,
        ),
    ),
    replaceStep: compile<Fenced & { key: Kept; plain: Kept; body: Kept | null; now: number }>(
      db
        .updateTable('steps')
        .set({ body: slot<Kept | null>('body'), fence, ended_at: now })
        .where('task_id', '=', id)
        .where('step_key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
        .where(
          sql<boolean>`exists (select 1 from tasks where id = ${id} and fence = ${fence} and run_state = 'leased')`,
        ),
    ),
    hasRecords: compile<{ id: string }, { found: number }>(
      db.selectNoFrom((eb) =>
        eb
          .or([
            eb.exists(db.selectFrom('steps').select('task_id').where('task_id', '=', id)),
            eb.exists(db.selectFrom('input_requests').select('task_id').where('task_id', '=', id)),
          ])
          .as('found'),
      ),
    ),
    listQuestions: compile<
      { id: string },
      Pick<Schema['input_requests'], 'request_key' | 'question' | 'answer' | 'deadline'>
    >(
      db
        .selectFrom('input_requests')
        .select(['request_key', 'question', 'answer', 'deadline'])
        .where('task_id', '=', id)
        .orderBy('seq'),
    ),
    /** Changes nothing where the question was asked before, as for steps. */
    insertQuestion: compile<Fenced & { key: Kept; plain: Kept; question: Kept; deadline: number | null; now: number }>(
      db
        .insertInto('input_requests')
        .columns(['task_id', 'request_key', 'seq', 'question', 'created_fence', 'created_at', 'deadline'])
        .expression(
          sql`select ${id}, ${slot('key')}, (select count(*) from input_requests where task_id = ${id}), ${slot('question')},
            ${fence}, ${now}, ${slot('deadline')}
            where not exists (
              select 1 from input_requests where task_id = ${id} and request_key in (${slot('key')}, ${slot('plain')}))`,
        ),
    ),
    answerQuestion: compile<{
      id: string;
      key: Kept;
      plain: Kept;
      answer: Kept;
      action: Kept;
      responder: string;
      now: number;
    }>(
      db
        .updateTable('input_requests')
        .set({
          answer: slot<Kept>('answer'),
          action: slot<Kept>('action'),
          responder: slot<string>('responder'),
          answered_at: now,
        })
        .where('task_id', '=', id)
        .where('request_key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
        .where('answered_at', 'is', null),
    ),
    expireQuestion: compile<Closing>(close.where('deadline', 'is not', null).where('deadline', '<=', now)),
    withdrawQuestion: compile<Closing>(close),
  };
}
