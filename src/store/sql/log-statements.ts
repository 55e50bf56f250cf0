import { type Kysely, sql } from 'kysely';
import { fragments } from './fragments.ts';
import type { Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import type { Kept } from './vault.ts';

type Tasks = Schema['tasks'];

/** The statements of tasks' logs. */
export function logStatements(db: Kysely<Schema>) {
  const { id } = fragments(db);
  return {
    insertLog: compile<{ id: string; start: number; body: Kept }>(
      db.insertInto('logs').values({ task_id: id, start: slot<number>('start'), body: slot<Kept>('body') }),
    ),
    setLogBytes: compile<{ id: string; bytes: number }>(
      db
        .updateTable('tasks')
        .set({ log_bytes: slot<number>('bytes') })
        .where('id', '=', id),
    ),
    dropLog: compile<{ id: string; from: number; before: number }>(
      db
        .deleteFrom('logs')
        .where('task_id', '=', id)
        .where('start', '>=', slot<number>('from'))
        .where('start', '<', slot<number>('before')),
    ),
    readLogBytes: compile<{ id: string }, Pick<Tasks, 'log_bytes'>>(
      db.selectFrom('tasks').select('log_bytes').where('id', '=', id),
    ),
    /** Some lines each: those that hold `cursor`, if any do, and what follows. */
    readLog: compile<{ id: string; cursor: number; limit: number }, Pick<Schema['logs'], 'start' | 'body'>>(
      db
        .selectFrom('logs')
        .select(['start', 'body'])
        .where('task_id', '=', id)
        .where(
          'start',
          '>=',
          sql<number>`(select coalesce(max(start), 0) from logs where task_id = ${id} and start <= ${slot<number>('cursor')})`,
        )
        .orderBy('start')
        .limit(slot<number>('limit')),
    ),
  };
}
