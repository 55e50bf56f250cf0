import type Database from 'better-sqlite3';
import type { Generated } from 'kysely';
import { StoreRefusedError } from '../../core/index.ts';

/** "LCCJ": tells a client's journal from a task store and from other SQLite databases. */
export const JOURNAL_APPLICATION_ID = 0x4c43434a;
/** The schema this release writes. */
const SCHEMA_VERSION = 3;

/** Times are integer milliseconds since the Unix epoch, JSON is text. No credential is in any column. */
export interface JournalSchema {
  calls: {
    row_id: Generated<number>;
    id: string;
    /** The name the host gave the server: where it is and how to log in is the host's to know. */
    server: string;
    tool: string;
    arguments: string;
    idempotency_key: string;
    ttl_ms: number | null;
    created_at: number;
    phase: string;
    /** The state without an end. */
    state: string;
    cancel_requested: number;
    /** Whose it is to follow the call; null: nobody's. */
    owner: string | null;
    /** Grows with every change of owner, and guards every write. */
    fence: number;
    /** The calls that were made together; how many of them may be under way at once, if that is bounded. */
    group_id: string | null;
    group_limit: number | null;
    /** The task whose handler made the call. */
    parent: string | null;
    traceparent: string | null;
    /** What the server calls tasks that the host thinks this call has to do with. */
    related: string | null;
    /** What the host keeps with the call. */
    note: string | null;
    /** What is sent with the call in `_meta`, beside what the revision puts there. */
    meta: string | null;
  };
  /** Ends of calls, in the order in which they were written. Numbers are never used again, also after rows are deleted. */
  endings: {
    seq: number;
    call_id: string;
    body: string;
    ended_at: number;
    acknowledged_at: number | null;
  };
  /** What was answered to questions of open calls, the first answer to each. */
  answers: { call_id: string; question_key: string; answer: string };
  /** Who follows calls. A beat that stands still for the length of a lease is that of the dead. */
  owners: { id: string; beat: number };
}

const TABLES = `
create table calls (
  row_id integer primary key, id text not null unique, server text not null, tool text not null, arguments text not null,
  idempotency_key text not null, ttl_ms integer, created_at integer not null, phase text not null, state text not null,
  cancel_requested integer not null default 0, owner text, fence integer not null
);
create index calls_open on calls (server, row_id) where phase <> 'ended';
create index calls_owned on calls (owner) where owner is not null;
create table endings (
  seq integer primary key autoincrement, call_id text not null unique, body text not null, ended_at integer not null,
  acknowledged_at integer
);
create index endings_unread on endings (seq) where acknowledged_at is null;
create index endings_read on endings (acknowledged_at) where acknowledged_at is not null;
create table answers (
  call_id text not null, question_key text not null, answer text not null, primary key (call_id, question_key)
) without rowid;
create table owners (id text primary key not null, beat integer not null);
create trigger ended_is_final before update of phase, state on calls when old.phase = 'ended'
begin select raise(abort, 'an ended call never changes'); end;
`;

/** What the second version brought: groups of calls, calls made by handlers of tasks, and what hosts keep with calls. */
const SECOND = `
alter table calls add column group_id text;
alter table calls add column group_limit integer;
alter table calls add column parent text;
alter table calls add column traceparent text;
alter table calls add column related text;
alter table calls add column note text;
create index calls_grouped on calls (group_id, row_id) where group_id is not null;
create index calls_of_parents on calls (parent) where parent is not null and phase <> 'ended';
`;

/** What the third brought: what a caller says beside its arguments. */
const THIRD = 'alter table calls add column meta text;';

/** What leads from each version to the next. */
const STEPS = [TABLES, SECOND, THIRD];

/** Makes the tables where there are none. Two processes that start together make them once. */
export function migrateJournal(db: Database.Database, file: string): void {
  if (versionOf(db, file) === SCHEMA_VERSION) return;
  db.exec('begin immediate');
  try {
    const found = versionOf(db, file);
    if (found !== SCHEMA_VERSION) {
      for (const step of STEPS.slice(found)) db.exec(step);
      db.pragma(`user_version = ${SCHEMA_VERSION}`);
    }
    db.exec('commit');
  } finally {
    if (db.inTransaction) db.exec('rollback');
  }
}

function versionOf(db: Database.Database, file: string): number {
  const version = db.pragma('user_version', { simple: true }) as number;
  if (version <= SCHEMA_VERSION) return version;
  throw new StoreRefusedError(
    `${file} was written by a newer release of longcall (journal ${version}, this release writes ${SCHEMA_VERSION}); ` +
      'update longcall, or open another file',
  );
}
