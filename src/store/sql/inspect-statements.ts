import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { fragments } from './fragments.ts';
import type { RunState, Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import type { Kept } from './vault.ts';

type Tasks = Schema['tasks'];

/** What a list shows of a task. */
const overviewColumns = [
  'id',
  'tenant',
  'principal',
  'origin_method',
  'tool',
  'status',
  'run_state',
  'status_message',
  'progress',
  'attempt',
  'created_at',
  'updated_at',
  'terminal_at',
  'expires_at',
  'labels',
] as const satisfies readonly (keyof Tasks)[];

export type OverviewRow = Pick<Tasks, (typeof overviewColumns)[number]>;
export type FullRow = Omit<Tasks, 'row_id'> & { row_id: number };
export type AskedRow = Omit<Schema['input_requests'], 'task_id' | 'seq' | 'created_fence'>;
export interface TimelineRow {
  seq: number;
  type: string;
  body: Kept | null;
  at: number;
  /** The worker of an attempt. */
  worker: string | null;
  /** Key and name of a step. */
  step_key: Kept | null;
  name: Kept | null;
  ordinal: number | null;
  fence: number | null;
}

interface Before {
  beforeAt: number;
  beforeId: string;
}
interface Owner {
  tenant: string | null;
  principal: string | null;
}
interface Between extends Before {
  lastAt: number;
  lastId: string;
  tool: string | null;
  limit: number;
  s1: string | null;
  s2: string | null;
  s3: string | null;
  s4: string | null;
  s5: string | null;
}

type TasksQuery = SelectQueryBuilder<Schema, 'tasks', unknown>;

/** How tasks are listed, newest first. Those of one principal have an index of their own. */
function listing(db: Kysely<Schema>, restrict: (query: TasksQuery) => TasksQuery) {
  const before = sql<boolean>`(created_at, id) < (${slot<number>('beforeAt')}, ${slot<string>('beforeId')})`;
  const statuses = (['s1', 's2', 's3', 's4', 's5'] as const).map((name) => slot<Tasks['status']>(name));
  const tool = slot<string | null>('tool');
  const newestFirst = () =>
    restrict(db.selectFrom('tasks') as TasksQuery)
      .where(before)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc');
  return {
    /** The key that lies `skip` tasks on, so that a page looks at no more than those. */
    keyOlderThan: compile<Before & Owner & { since: number; skip: number }, Pick<Tasks, 'created_at' | 'id'>>(
      newestFirst()
        .select(['created_at', 'id'])
        .where('created_at', '>=', slot<number>('since'))
        .limit(1)
        .offset(slot<number>('skip')),
    ),
    overviews: compile<Between & Owner, OverviewRow>(
      newestFirst()
        .select(overviewColumns)
        .where(sql<boolean>`(created_at, id) >= (${slot<number>('lastAt')}, ${slot<string>('lastId')})`)
        .where('status', 'in', statuses)
        .where(sql<boolean>`(${tool} is null or tool = ${tool})`)
        .limit(slot<number>('limit')),
    ),
  };
}

/** The statements of operators. None of them is needed to serve. */
export function inspectStatements(db: Kysely<Schema>) {
  const { id, row } = fragments(db);
  const limit = slot<number>('limit');
  const after = slot<number>('after');

  return {
    ofEverybody: listing(db, (query) => query),
    ofPrincipal: listing(db, (query) =>
      query.where('tenant', '=', slot<string>('tenant')).where('principal', '=', slot<string>('principal')),
    ),
    countTasks: compile<
      { after: number; limit: number },
      Pick<Tasks, 'status' | 'run_state'> & { found: number; last: number }
    >(
      db
        .selectFrom(
          db
            .selectFrom('tasks')
            .select(['row_id', 'status', 'run_state'])
            .where('row_id', '>', after)
            .orderBy('row_id')
            .limit(limit)
            .as('some'),
        )
        .select((eb) => [
          'status',
          'run_state',
          eb.fn.countAll<number>().as('found'),
          eb.fn.max<number>('row_id').as('last'),
        ])
        .groupBy(['status', 'run_state']),
    ),
    findIds: compile<{ prefix: string; beyond: string; limit: number }, { id: string }>(
      db
        .selectFrom('tasks')
        .select('id')
        .where('id', '>=', slot<string>('prefix'))
        .where('id', '<', slot<string>('beyond'))
        .orderBy('id')
        .limit(limit),
    ),
    readFull: compile<{ id: string }, FullRow>(db.selectFrom('tasks').selectAll().where('id', '=', id)),
    countSteps: compile<{ id: string }, { found: number }>(
      db
        .selectFrom('steps')
        .select((eb) => eb.fn.countAll<number>().as('found'))
        .where('task_id', '=', id),
    ),
    listAsked: compile<{ id: string }, AskedRow>(
      db
        .selectFrom('input_requests')
        .select(['request_key', 'question', 'created_at', 'deadline', 'answer', 'action', 'responder', 'answered_at'])
        .where('task_id', '=', id)
        .orderBy('seq'),
    ),
    listPayloads: compile<{ id: string }, Pick<Schema['task_payloads'], 'kind' | 'body'>>(
      db.selectFrom('task_payloads').select(['kind', 'body']).where('task_row', '=', row),
    ),
    listRecordedSteps: compile<
      { id: string },
      Pick<Schema['steps'], 'step_key' | 'name' | 'ordinal' | 'body' | 'error'>
    >(
      db
        .selectFrom('steps')
        .select(['step_key', 'name', 'ordinal', 'body', 'error'])
        .where('task_id', '=', id)
        .orderBy('event_seq'),
    ),
    /** Events, attempts and steps took their numbers from one row, so they merge into one order. */
    timeline: compile<{ id: string; after: number; limit: number }, TimelineRow>({
      compile: () =>
        sql`
          select seq, type, body, at, null as worker, null as step_key, null as name, null as ordinal, null as fence
            from events where task_row = ${row} and seq > ${after}
          union all
          select event_seq, 'claimed', null, started_at, worker, null, null, attempt, fence
            from attempts where task_row = ${row} and event_seq > ${after}
          union all
          select event_seq, case when error is null then 'step_recorded' else 'step_failed' end, null, ended_at, null, step_key, name, ordinal, null
            from steps where task_id = ${id} and event_seq > ${after}
          order by seq limit ${limit}`.compile(db),
    }),

    hide: compile<{ id: string; now: number }>(
      db
        .updateTable('tasks')
        .set({ delete_at: slot<number>('now') })
        .where('id', '=', id)
        .where('run_state', '=', 'done' satisfies RunState),
    ),
  };
}
