import { type Kysely, sql } from 'kysely';
import { type Fenced, fragments, type OwnedBy } from './fragments.ts';
import type { RunState, Schema } from './schema.ts';
import { compile, slot } from './statement.ts';
import type { Kept } from './vault.ts';

type Tasks = Schema['tasks'];

type TaskColumn = Exclude<keyof Tasks, 'row_id'>;

/** What a reader needs of a task; everything else stays in the store. */
export const recordColumns = [
  'id',
  'tenant',
  'principal',
  'requestor_task_id',
  'origin_method',
  'tool',
  'created_revision',
  'progress_token',
  'status',
  'status_message',
  'progress',
  'cancel_reason',
  'version',
  'attempt',
  'poll_ms',
  'created_at',
  'updated_at',
  'ttl_ms',
  'expires_at',
  'keep_result_ms',
  'keep_alive_ms',
  'fence',
] as const satisfies readonly TaskColumn[];

/** What a command needs to decide about a task. */
const controlColumns = [
  'id',
  'status',
  'run_state',
  'fence',
  'attempt',
  'event_seq',
  'log_bytes',
  'created_at',
  'updated_at',
  'ttl_ms',
  'keep_result_ms',
  'keep_alive_ms',
  'expires_at',
  'leased_at',
  'lease_until',
  'poll_ms',
] as const satisfies readonly TaskColumn[];

/** What a new task may have; everything else is null at birth. */
const newTaskColumns = [
  'id',
  'tenant',
  'principal',
  'requestor_task_id',
  'origin_method',
  'tool',
  'tool_version',
  'created_revision',
  'origin_request_id',
  'progress_token',
  'client_capabilities',
  'status',
  'run_state',
  'version',
  'event_seq',
  'log_bytes',
  'fence',
  'attempt',
  'max_attempts',
  'on_worker_lost',
  'lease_owner',
  'lease_until',
  'leased_at',
  'available_at',
  'poll_ms',
  'created_at',
  'updated_at',
  'ttl_ms',
  'keep_result_ms',
  'keep_alive_ms',
  'expires_at',
  'timeout_ms',
  'active_ms',
  'parent_task_id',
  'traceparent',
  'labels',
  'job_kind',
  'job_ref',
] as const satisfies readonly TaskColumn[];

export type RecordRow = Pick<Tasks, (typeof recordColumns)[number]> & { outcome: Kept | null };
export type ControlRow = Pick<Tasks, (typeof controlColumns)[number]>;
export type NewTaskRow = Omit<Tasks, 'row_id'>;

/** The statements of tasks themselves: how they begin, are seen, change and end. */
export function taskStatements(db: Kysely<Schema>) {
  const { id, now, fence, row, touched, held, owned } = fragments(db);
  return {
    insertTask: compile<NewTaskRow>(
      db
        .insertInto('tasks')
        .values(Object.fromEntries(newTaskColumns.map((column) => [column, slot(column)])) as unknown as NewTaskRow),
    ),
    insertPayload: compile<{ id: string; kind: Schema['task_payloads']['kind']; body: Kept; keyId: string | null }>(
      db
        .insertInto('task_payloads')
        .values({ task_row: row, kind: slot('kind'), body: slot('body'), key_id: slot<string | null>('keyId') }),
    ),
    readPayload: compile<{ id: string; kind: Schema['task_payloads']['kind'] }, { body: Kept }>(
      db
        .selectFrom('task_payloads')
        .select('body')
        .where('task_row', '=', row)
        .where('kind', '=', slot<'input'>('kind')),
    ),
    insertEvent: compile<{ id: string; seq: number; type: string; body: Kept | null; now: number }>(
      db
        .insertInto('events')
        .values({ task_row: row, seq: slot('seq'), type: slot('type'), body: slot('body'), at: now }),
    ),
    bumpEvent: compile<{ id: string }>(
      db
        .updateTable('tasks')
        .set((eb) => ({ event_seq: eb('event_seq', '+', 1) }))
        .where('id', '=', id),
    ),
    /** Takes a number in the timeline while the lease holds; nothing changes, and so the lease is lost, if not. */
    takeEventSeq: compile<Fenced>(held().set((eb) => ({ event_seq: eb('event_seq', '+', 1) }))),
    /** Also one that is gone already and not deleted yet. */
    findRequestorTask: compile<{ tenant: string; principal: string; requestorTaskId: string }, { id: string }>(
      db
        .selectFrom('tasks')
        .select('id')
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('requestor_task_id', '=', slot<string>('requestorTaskId')),
    ),
    openTaskBeyond: compile<{ tenant: string; principal: string; limit: number }, { id: string }>(
      db
        .selectFrom('tasks')
        .select('id')
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('run_state', '<>', 'done')
        .limit(1)
        .offset(slot<number>('limit')),
    ),
    readRecord: compile<OwnedBy, RecordRow>(
      owned()
        .leftJoin('task_payloads as p', (join) =>
          join
            .onRef('p.task_row', '=', 'tasks.row_id')
            .on(
              'p.kind',
              '=',
              sql<'result'>`case tasks.status when 'completed' then 'result' when 'failed' then 'error' end`,
            ),
        )
        .select(recordColumns.map((column) => `tasks.${column}` as const))
        .select('p.body as outcome'),
    ),
    readControl: compile<{ id: string }, ControlRow>(
      db.selectFrom('tasks').select(controlColumns).where('id', '=', id),
    ),
    readOwnedControl: compile<OwnedBy, ControlRow>(
      owned().select(controlColumns.map((column) => `tasks.${column}` as const)),
    ),
    readPulse: compile<{ id: string }, Pick<Tasks, 'id' | 'status' | 'fence' | 'version'>>(
      db.selectFrom('tasks').select(['id', 'status', 'fence', 'version']).where('id', '=', id),
    ),
    report: compile<Fenced & { progress: Kept | null; message: Kept | null; pollMs: number | null; now: number }>(
      held().set((eb) => ({
        progress: sql<Kept | null>`coalesce(${slot<Kept | null>('progress')}, progress)`,
        status_message: sql<Kept | null>`coalesce(${slot<Kept | null>('message')}, status_message)`,
        poll_ms: sql<number | null>`coalesce(${slot<number | null>('pollMs')}, poll_ms)`,
        version: eb('version', '+', 1),
        updated_at: touched,
      })),
    ),
    setStatus: compile<{ id: string; status: Tasks['status']; runState: RunState; now: number }>(
      db
        .updateTable('tasks')
        .set((eb) => ({
          status: slot<Tasks['status']>('status'),
          run_state: slot<RunState>('runState'),
          available_at: sql<number>`case when ${slot<RunState>('runState')} = 'ready' then ${now} else available_at end`,
          version: eb('version', '+', 1),
          event_seq: eb('event_seq', '+', 1),
          updated_at: touched,
        }))
        .where('id', '=', id)
        .where('run_state', '<>', 'done'),
    ),
    /** Every way to the end goes through this one statement; `version` makes it a compare-and-set. */
    end: compile<
      Fenced & {
        status: Tasks['status'];
        runState: RunState;
        reason: Kept | null;
        ttlMs: number | null;
        expiresAt: number | null;
        deleteAt: number | null;
        now: number;
      }
    >(
      db
        .updateTable('tasks')
        .set((eb) => ({
          status: slot<Tasks['status']>('status'),
          run_state: 'done' as RunState,
          status_message: null,
          cancel_reason: slot<Kept | null>('reason'),
          version: eb('version', '+', 1),
          event_seq: eb('event_seq', '+', 1),
          active_ms: sql<number>`active_ms + coalesce(max(0, ${now} - leased_at), 0)`,
          lease_owner: null,
          lease_until: null,
          leased_at: null,
          updated_at: touched,
          terminal_at: now,
          ttl_ms: slot<number | null>('ttlMs'),
          expires_at: slot<number | null>('expiresAt'),
          delete_at: slot<number | null>('deleteAt'),
        }))
        .where('id', '=', id)
        .where('fence', '=', fence)
        .where('run_state', '=', slot<RunState>('runState')),
    ),
    listExpired: compile<{ now: number; limit: number }, { id: string }>(
      db
        .selectFrom('tasks')
        .select('id')
        .where('run_state', '<>', 'done')
        .where('expires_at', 'is not', null)
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(slot<number>('limit')),
    ),
    listDeletable: compile<{ now: number; limit: number }, { id: string }>(
      db
        .selectFrom('tasks')
        .select('id')
        .where('delete_at', 'is not', null)
        .where('delete_at', '<=', now)
        .orderBy('delete_at')
        .limit(slot<number>('limit')),
    ),
  };
}
