import { sql } from 'kysely';
import { eraseStatements } from './erase-statements.ts';
import { inspectStatements } from './inspect-statements.ts';
import { rekeyStatements } from './rekey-statements.ts';
import type { AttemptOutcome, RunState, Schema } from './schema.ts';
import { compile, compiler, slot } from './statement.ts';
import type { Kept, Vault } from './vault.ts';

type Tasks = Schema['tasks'];
type TaskColumn = Exclude<keyof Tasks, 'row_id'>;

/** What a reader needs of a task; everything else stays in the store. */
const recordColumns = [
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

/** What a worker needs besides the record. */
const claimColumns = [
  ...recordColumns,
  'lease_owner',
  'lease_until',
  'timeout_ms',
  'active_ms',
  'client_capabilities',
  'tool_version',
] as const;

/** What recovery needs of a leased task. */
const leasedColumns = ['id', 'fence', 'attempt', 'max_attempts', 'on_worker_lost', 'lease_owner'] as const;

export type LeasedRow = Pick<Tasks, (typeof leasedColumns)[number]>;
interface Owner {
  tenant: string;
  principal: string;
}

export type ReadyRow = Owner & Pick<Tasks, 'id' | 'tool'>;
export type RecordRow = Pick<Tasks, (typeof recordColumns)[number]> & { outcome: Kept | null };
export type ControlRow = Pick<Tasks, (typeof controlColumns)[number]>;
export type ClaimRow = Pick<Tasks, (typeof claimColumns)[number]>;
export type NewTaskRow = Omit<Tasks, 'row_id'>;
type AllStatements = ReturnType<typeof buildStatements>;
/** What commands work with: every statement, and what makes payloads into values for them. */
export type Statements = AllStatements & { readonly vault: Vault };

interface OwnedBy {
  id: string;
  tenant: string;
  principal: string;
  now: number;
}
interface Fenced {
  id: string;
  fence: number;
}

let statements: AllStatements | undefined;

/** Every statement a store runs. Compiled when they are first asked for, and the same for every store. */
export function allStatements(): AllStatements {
  statements ??= buildStatements();
  return statements;
}

export function statementsWith(vault: Vault): Statements {
  return { ...allStatements(), vault };
}

function buildStatements() {
  const db = compiler<Schema>();
  const id = slot<string>('id');
  const now = slot<number>('now');
  const fence = slot<number>('fence');
  const row = sql<number>`(select row_id from tasks where id = ${id})`;
  /** Rises with every visible change, even when the clock stands still or steps back. */
  const touched = sql<number>`max(${now}, updated_at + 1)`;
  /** The number that the task's row was given in the same transaction: each entry of a timeline has one of its own. */
  const takenEventSeq = sql<number>`(select event_seq from tasks where id = ${id})`;
  const held = () =>
    db.updateTable('tasks').where('id', '=', id).where('fence', '=', fence).where('run_state', '=', 'leased');
  const owned = () =>
    db
      .selectFrom('tasks')
      .where('tasks.id', '=', id)
      .where('tasks.tenant', '=', slot<string>('tenant'))
      .where('tasks.principal', '=', slot<string>('principal'))
      .where((eb) => eb.or([eb('tasks.delete_at', 'is', null), eb('tasks.delete_at', '>', now)]));

  return {
    ...inspectStatements(db),
    ...rekeyStatements(db),
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
    insertAttempt: compile<{ id: string; fence: number; attempt: number; worker: string; now: number }>(
      db.insertInto('attempts').values({
        task_row: row,
        fence,
        attempt: slot('attempt'),
        worker: slot('worker'),
        started_at: now,
        ended_at: null,
        outcome: null,
        error: null,
        event_seq: takenEventSeq,
      }),
    ),
    endAttempt: compile<{ id: string; fence: number; outcome: AttemptOutcome; error: Kept | null; now: number }>(
      db
        .updateTable('attempts')
        .set({ ended_at: now, outcome: slot<AttemptOutcome>('outcome'), error: slot<Kept | null>('error') })
        .where('task_row', '=', row)
        .where('fence', '=', fence),
    ),

    addMeta: compile<{ key: string; value: Kept }>(
      db
        .insertInto('meta')
        .values({ key: slot('key'), value: slot('value') })
        .onConflict((conflict) => conflict.doNothing()),
    ),
    readMeta: compile<{ key: string }, { value: Kept }>(
      db.selectFrom('meta').select('value').where('key', '=', slot<string>('key')),
    ),
    /** Under a digest, or as it was kept before payloads were sealed; then the digest is the younger one. */
    findKey: compile<
      { tenant: string; principal: string; name: string; key: Kept; plain: Kept; now: number },
      { request_hash: Kept; task_id: string }
    >(
      db
        .selectFrom('idempotency_keys')
        .select(['request_hash', 'task_id'])
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('name', '=', slot<string>('name'))
        .where('key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
        .orderBy(sql`typeof(key)`)
        .limit(1),
    ),
    putKey: compile<{
      tenant: string;
      principal: string;
      name: string;
      key: Kept;
      hash: Kept;
      id: string;
      expiresAt: number | null;
    }>(
      db.replaceInto('idempotency_keys').values({
        tenant: slot('tenant'),
        principal: slot('principal'),
        name: slot('name'),
        key: slot('key'),
        request_hash: slot('hash'),
        task_id: id,
        expires_at: slot('expiresAt'),
        repeats: 0,
      }),
    ),
    countRepeat: compile<{ id: string }>(
      db
        .updateTable('idempotency_keys')
        .set((eb) => ({ repeats: eb('repeats', '+', 1) }))
        .where('task_id', '=', id),
    ),
    takeBackRepeat: compile<{ id: string }>(
      db
        .updateTable('idempotency_keys')
        .set((eb) => ({ repeats: eb('repeats', '-', 1) }))
        .where('task_id', '=', id),
    ),
    readRepeats: compile<{ id: string }, { repeats: number }>(
      db.selectFrom('idempotency_keys').select('repeats').where('task_id', '=', id),
    ),
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

    nextPrincipal: compile<Owner, Owner & { available_at: number }>(
      db
        .selectFrom('tasks')
        .select(['tenant', 'principal', 'available_at'])
        .where('run_state', '=', 'ready')
        .where(sql<boolean>`(tenant, principal) > (${slot<string>('tenant')}, ${slot<string>('principal')})`)
        .orderBy('tenant')
        .orderBy('principal')
        .orderBy('available_at')
        .limit(1),
    ),
    listReady: compile<Owner & { names: string; now: number; limit: number }, ReadyRow>(
      db
        .selectFrom('tasks')
        .select(['id', 'tool', 'tenant', 'principal'])
        .where('run_state', '=', 'ready')
        .where('tenant', '=', slot<string>('tenant'))
        .where('principal', '=', slot<string>('principal'))
        .where('available_at', '<=', now)
        .where(sql<boolean>`tool in (select value from json_each(${slot<string>('names')}))`)
        .orderBy('available_at')
        .orderBy('row_id')
        .limit(slot<number>('limit')),
    ),
    nextReady: compile<{ now: number }, { at: number | null }>(
      db
        .selectFrom('tasks')
        .select((eb) => eb.fn.min<number | null>('available_at').as('at'))
        .where('run_state', '=', 'ready')
        .where('available_at', '>', now),
    ),
    claim: compile<{ id: string; worker: string; until: number; now: number }, ClaimRow>(
      db
        .updateTable('tasks')
        .set((eb) => ({
          run_state: 'leased' as RunState,
          fence: eb('fence', '+', 1),
          attempt: eb('attempt', '+', 1),
          event_seq: eb('event_seq', '+', 1),
          lease_owner: slot<string>('worker'),
          lease_until: slot<number>('until'),
          leased_at: now,
        }))
        .where('id', '=', id)
        .where('run_state', '=', 'ready')
        .where('available_at', '<=', now)
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
        .returning(claimColumns),
    ),
    /** Undoes a claim of the same transaction: nobody has seen it. */
    setAside: compile<Fenced & { until: number }>(
      held().set((eb) => ({
        run_state: 'ready' as RunState,
        fence: eb('fence', '-', 1),
        attempt: eb('attempt', '-', 1),
        event_seq: eb('event_seq', '-', 1),
        available_at: slot<number>('until'),
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      })),
    ),
    renew: compile<Fenced & { until: number }>(held().set({ lease_until: slot<number>('until') })),
    release: compile<Fenced & { runState: RunState; availableAt: number; givenBack: 0 | 1; activeMs: number }>(
      held().set((eb) => ({
        run_state: slot<RunState>('runState'),
        attempt: eb('attempt', '-', slot<number>('givenBack')),
        event_seq: eb('event_seq', '+', 1),
        active_ms: eb('active_ms', '+', slot<number>('activeMs')),
        available_at: slot<number>('availableAt'),
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      })),
    ),
    returnToReady: compile<Fenced & { now: number }>(
      held().set({
        run_state: 'ready',
        // The dead do not say how long they worked; a task that waited for an answer did not work at all.
        active_ms: sql<number>`active_ms + case status when 'working' then max(0, min(${now}, lease_until) - leased_at) else 0 end`,
        available_at: now,
        lease_owner: null,
        lease_until: null,
        leased_at: null,
      }),
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
    report: compile<Fenced & { progress: Kept | null; message: Kept | null; now: number }>(
      held().set((eb) => ({
        progress: sql<Kept | null>`coalesce(${slot<Kept | null>('progress')}, progress)`,
        status_message: sql<Kept | null>`coalesce(${slot<Kept | null>('message')}, status_message)`,
        version: eb('version', '+', 1),
        updated_at: touched,
      })),
    ),
    bumpEvent: compile<{ id: string }>(
      db
        .updateTable('tasks')
        .set((eb) => ({ event_seq: eb('event_seq', '+', 1) }))
        .where('id', '=', id),
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
    /** Takes a number in the timeline while the lease holds; nothing changes, and so the lease is lost, if not. */
    takeEventSeq: compile<Fenced>(held().set((eb) => ({ event_seq: eb('event_seq', '+', 1) }))),
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

    expireQuestion: compile<{ id: string; key: Kept; plain: Kept; answer: Kept; action: Kept; now: number }>(
      db
        .updateTable('input_requests')
        .set({ answer: slot<Kept>('answer'), action: slot<Kept>('action'), answered_at: now })
        .where('task_id', '=', id)
        .where('request_key', 'in', [slot<Kept>('key'), slot<Kept>('plain')])
        .where('deadline', 'is not', null)
        .where('deadline', '<=', now)
        .where('answered_at', 'is', null),
    ),
    listAttempts: compile<
      { id: string },
      Pick<Schema['attempts'], 'fence' | 'attempt' | 'worker' | 'started_at' | 'ended_at' | 'outcome' | 'error'>
    >(
      db
        .selectFrom('attempts')
        .select(['fence', 'attempt', 'worker', 'started_at', 'ended_at', 'outcome', 'error'])
        .where('task_row', '=', row)
        .orderBy('fence'),
    ),

    listOverdue: compile<{ now: number; limit: number }, LeasedRow>(
      db
        .selectFrom('tasks')
        .select(leasedColumns)
        .where('run_state', '=', 'leased')
        .where('lease_until', '<', now)
        .orderBy('lease_until')
        .limit(slot<number>('limit')),
    ),
    listLeaseOwners: compile<Record<string, never>, { lease_owner: string | null }>(
      db.selectFrom('tasks').select('lease_owner').distinct().where('run_state', '=', 'leased'),
    ),
    listLeasedBy: compile<{ worker: string; limit: number }, LeasedRow>(
      db
        .selectFrom('tasks')
        .select(leasedColumns)
        .where('run_state', '=', 'leased')
        .where('lease_owner', '=', slot<string>('worker'))
        .limit(slot<number>('limit')),
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
    ...eraseStatements(db),
  };
}

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
