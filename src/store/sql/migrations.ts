import { type Kysely, type Migration, type MigrationProvider, sql } from 'kysely';

/** The schema this release writes. */
export const SCHEMA_VERSION = 2;
/** The oldest schema number a release must know to read, and to write, what this release leaves behind. */
const MIN_READER = 1;
export const MIN_WRITER = 1;
/** The same for a file whose payloads are sealed: releases before would take the bytes for text. */
export const SEALED_READER = 2;

const initial: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('meta')
      .addColumn('key', 'text', (c) => c.primaryKey().notNull())
      .addColumn('value', 'text', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('tasks')
      .addColumn('row_id', 'integer', (c) => c.primaryKey())
      .addColumn('id', 'text', (c) => c.notNull().unique())
      .addColumn('tenant', 'text', (c) => c.notNull())
      .addColumn('principal', 'text', (c) => c.notNull())
      .addColumn('requestor_task_id', 'text')
      .addColumn('origin_method', 'text', (c) => c.notNull())
      .addColumn('tool', 'text', (c) => c.notNull())
      .addColumn('tool_version', 'text')
      .addColumn('created_revision', 'text', (c) => c.notNull())
      .addColumn('origin_request_id', 'text')
      .addColumn('progress_token', 'text')
      .addColumn('client_capabilities', 'text')
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('run_state', 'text', (c) => c.notNull())
      .addColumn('status_message', 'text')
      .addColumn('progress', 'text')
      .addColumn('cancel_reason', 'text')
      .addColumn('version', 'integer', (c) => c.notNull())
      .addColumn('event_seq', 'integer', (c) => c.notNull())
      .addColumn('log_bytes', 'integer', (c) => c.notNull())
      .addColumn('fence', 'integer', (c) => c.notNull())
      .addColumn('attempt', 'integer', (c) => c.notNull())
      .addColumn('max_attempts', 'integer', (c) => c.notNull())
      .addColumn('on_worker_lost', 'text', (c) => c.notNull())
      .addColumn('lease_owner', 'text')
      .addColumn('lease_until', 'integer')
      .addColumn('leased_at', 'integer')
      .addColumn('available_at', 'integer', (c) => c.notNull())
      .addColumn('cancel_requested_at', 'integer')
      .addColumn('poll_ms', 'integer')
      .addColumn('created_at', 'integer', (c) => c.notNull())
      .addColumn('updated_at', 'integer', (c) => c.notNull())
      .addColumn('ttl_ms', 'integer')
      .addColumn('keep_result_ms', 'integer', (c) => c.notNull())
      .addColumn('keep_alive_ms', 'integer')
      .addColumn('expires_at', 'integer')
      .addColumn('terminal_at', 'integer')
      .addColumn('delete_at', 'integer')
      .addColumn('timeout_ms', 'integer')
      .addColumn('active_ms', 'integer', (c) => c.notNull())
      .addColumn('parent_task_id', 'text')
      .addColumn('traceparent', 'text')
      .addColumn('labels', 'text')
      .addColumn('job_kind', 'text')
      .addColumn('job_ref', 'text')
      .addColumn('next_poll_at', 'integer')
      .execute();
    // Each index serves one question, and is partial where most rows never matter to it.
    await sql`create index tasks_ready on tasks (available_at, row_id) where run_state = 'ready'`.execute(db);
    await sql`create index tasks_ready_of_principal on tasks (tenant, principal, available_at, row_id) where run_state = 'ready'`.execute(
      db,
    );
    await sql`create index tasks_leased on tasks (lease_until) where run_state = 'leased'`.execute(db);
    await sql`create index tasks_expiring on tasks (expires_at) where run_state <> 'done' and expires_at is not null`.execute(
      db,
    );
    await sql`create index tasks_deletable on tasks (delete_at) where delete_at is not null`.execute(db);
    await sql`create index tasks_by_creation on tasks (created_at, id)`.execute(db);
    await sql`create index tasks_of_principal on tasks (tenant, principal, created_at, id)`.execute(db);
    await sql`create index tasks_open_of_principal on tasks (tenant, principal) where run_state <> 'done'`.execute(db);
    await sql`create unique index tasks_by_requestor_id on tasks (tenant, principal, requestor_task_id) where requestor_task_id is not null`.execute(
      db,
    );
    // What every task leaves behind is keyed by its row number, so that new tasks write to the same few pages. Keyed by the
    // random id, each would dirty a page of its own in every table, and all of them go through the WAL.
    await db.schema
      .createTable('task_payloads')
      .addColumn('task_row', 'integer', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('body', 'text', (c) => c.notNull())
      .addColumn('key_id', 'text')
      .addPrimaryKeyConstraint('task_payloads_key', ['task_row', 'kind'])
      .execute();
    await db.schema
      .createTable('attempts')
      .addColumn('task_row', 'integer', (c) => c.notNull())
      .addColumn('fence', 'integer', (c) => c.notNull())
      .addColumn('attempt', 'integer', (c) => c.notNull())
      .addColumn('worker', 'text', (c) => c.notNull())
      .addColumn('started_at', 'integer', (c) => c.notNull())
      .addColumn('ended_at', 'integer')
      .addColumn('outcome', 'text')
      .addColumn('error', 'text')
      .addColumn('event_seq', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('attempts_key', ['task_row', 'fence'])
      .modifyEnd(sql`without rowid`)
      .execute();
    await db.schema
      .createTable('steps')
      .addColumn('task_id', 'text', (c) => c.notNull())
      .addColumn('step_key', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('ordinal', 'integer', (c) => c.notNull())
      .addColumn('seq', 'integer', (c) => c.notNull())
      .addColumn('input_hash', 'text')
      .addColumn('fence', 'integer', (c) => c.notNull())
      .addColumn('body', 'text')
      .addColumn('error', 'text')
      .addColumn('started_at', 'integer')
      .addColumn('ended_at', 'integer', (c) => c.notNull())
      .addColumn('event_seq', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('steps_key', ['task_id', 'step_key'])
      .execute();
    await db.schema
      .createTable('input_requests')
      .addColumn('task_id', 'text', (c) => c.notNull())
      .addColumn('request_key', 'text', (c) => c.notNull())
      .addColumn('seq', 'integer', (c) => c.notNull())
      .addColumn('question', 'text', (c) => c.notNull())
      .addColumn('created_fence', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'integer', (c) => c.notNull())
      .addColumn('deadline', 'integer')
      .addColumn('answer', 'text')
      .addColumn('action', 'text')
      .addColumn('responder', 'text')
      .addColumn('answered_at', 'integer')
      .addPrimaryKeyConstraint('input_requests_key', ['task_id', 'request_key'])
      .execute();
    await db.schema
      .createTable('events')
      .addColumn('task_row', 'integer', (c) => c.notNull())
      .addColumn('seq', 'integer', (c) => c.notNull())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('body', 'text')
      .addColumn('at', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('events_key', ['task_row', 'seq'])
      .modifyEnd(sql`without rowid`)
      .execute();
    await db.schema
      .createTable('logs')
      .addColumn('task_id', 'text', (c) => c.notNull())
      .addColumn('start', 'integer', (c) => c.notNull())
      .addColumn('body', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('logs_key', ['task_id', 'start'])
      .execute();
    await db.schema
      .createTable('idempotency_keys')
      .addColumn('tenant', 'text', (c) => c.notNull())
      .addColumn('principal', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('key', 'text', (c) => c.notNull())
      .addColumn('request_hash', 'text', (c) => c.notNull())
      .addColumn('task_id', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'integer')
      .addColumn('repeats', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('idempotency_keys_key', ['tenant', 'principal', 'name', 'key'])
      .execute();
    await sql`create index idempotency_keys_task on idempotency_keys (task_id)`.execute(db);
    await db.schema
      .createTable('tenants')
      .addColumn('id', 'text', (c) => c.primaryKey().notNull())
      .addColumn('max_open', 'integer')
      .addColumn('max_running', 'integer')
      .addColumn('default_ttl_ms', 'integer')
      .addColumn('max_ttl_ms', 'integer')
      .execute();
    await db.schema
      .createTable('principals')
      .addColumn('tenant', 'text', (c) => c.notNull())
      .addColumn('principal', 'text', (c) => c.notNull())
      .addColumn('max_open', 'integer')
      .addColumn('max_running', 'integer')
      .addColumn('default_ttl_ms', 'integer')
      .addColumn('max_ttl_ms', 'integer')
      .addPrimaryKeyConstraint('principals_key', ['tenant', 'principal'])
      .execute();
    await db.schema
      .createTable('workers')
      .addColumn('id', 'text', (c) => c.primaryKey().notNull())
      .addColumn('host', 'text', (c) => c.notNull())
      .addColumn('pid', 'integer', (c) => c.notNull())
      .addColumn('started_at', 'integer', (c) => c.notNull())
      .addColumn('seen_at', 'integer', (c) => c.notNull())
      .addColumn('capabilities', 'text')
      .execute();
    // Belt and braces: whatever code does, the database itself refuses to change how a task ended.
    await sql`
      create trigger tasks_terminal_is_final before update of status on tasks
      when old.status in ('completed', 'failed', 'cancelled') and new.status <> old.status
      begin select raise(abort, 'terminal is final'); end`.execute(db);
    await sql`
      create trigger outcomes_are_final before update on task_payloads
      when old.kind in ('result', 'error')
      begin select raise(abort, 'terminal is final'); end`.execute(db);
    await sql`
      insert into meta (key, value) values
        ('schema', '1'), ('min_reader', ${String(MIN_READER)}), ('min_writer', ${String(MIN_WRITER)})`.execute(db);
  },
};

/** Payloads may be sealed: the tables stay as they are, and what is in them may be bytes instead of text. */
const sealing: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`update meta set value = '2' where key = 'schema'`.execute(db);
  },
};

/** Every migration there is, oldest first; forward only. */
export const migrations: MigrationProvider = {
  getMigrations: () => Promise.resolve({ '0001-initial': initial, '0002-sealing': sealing }),
};
