import { type Kysely, sql } from 'kysely';
import { fragments } from './fragments.ts';
import type { Schema } from './schema.ts';
import { compile } from './statement.ts';

/** Rows deleted by one statement: few, as each can be large. */
export const ROWS_AT_A_TIME = 16;

/** The statements that leave nothing of a task. */
export function eraseStatements(db: Kysely<Schema>) {
  const { id, row } = fragments(db);
  /** Deletes some rows of a task and says how large they were, without looking at what is in them. */
  const some = (table: string, { task, key, bytes }: { task: 'task_id' | 'task_row'; key: string; bytes: string }) => {
    const owner = task === 'task_id' ? id : row;
    return compile<{ id: string }, { bytes: number }>({
      compile: () =>
        sql`delete from ${sql.table(table)} where ${sql.ref(task)} = ${owner} and ${sql.ref(key)} in (
            select ${sql.ref(key)} from ${sql.table(table)} where ${sql.ref(task)} = ${owner} limit ${ROWS_AT_A_TIME})
          returning ${sql.raw(bytes)} as bytes`.compile(db),
    });
  };

  return {
    /** There can be any number of these. What a reader of the task would miss comes later. */
    eraseSome: [
      some('logs', { task: 'task_id', key: 'start', bytes: 'octet_length(body)' }),
      some('steps', {
        task: 'task_id',
        key: 'step_key',
        bytes: 'coalesce(octet_length(body), octet_length(error), 0)',
      }),
      some('events', { task: 'task_row', key: 'seq', bytes: 'coalesce(octet_length(body), 0)' }),
      some('attempts', { task: 'task_row', key: 'fence', bytes: 'coalesce(octet_length(error), 0)' }),
      some('input_requests', {
        task: 'task_id',
        key: 'request_key',
        bytes: 'octet_length(question) + coalesce(octet_length(answer), 0)',
      }),
    ],
    payloadBytes: compile<{ id: string }, { bytes: number }>(
      db
        .selectFrom('task_payloads')
        .select(sql<number>`coalesce(sum(octet_length(body)), 0)`.as('bytes'))
        .where('task_row', '=', row),
    ),
    /** The task itself, last of all. */
    eraseTask: [
      compile<{ id: string }>(db.deleteFrom('task_payloads').where('task_row', '=', row)),
      compile<{ id: string }>(db.deleteFrom('idempotency_keys').where('task_id', '=', id)),
      compile<{ id: string }>(db.deleteFrom('tasks').where('id', '=', id)),
    ],
  };
}
