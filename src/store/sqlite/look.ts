import { existsSync, readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreRefusedError } from '../../core/index.ts';
import { SCHEMA_VERSION } from '../sql/migrations.ts';
import { APPLICATION_ID, refusal, schemaOf } from './open.ts';

/** What can be seen of a task store without a trace of having looked. */
export interface StoreLook {
  schema: number;
  /** The schema that this release writes. */
  ownSchema: number;
  /** Open tasks by the name of their tool. */
  open: { tool: string; count: number }[];
  /** When any task changed last, in milliseconds since the Unix epoch; undefined: there is none. */
  newestAt: number | undefined;
}

/** A larger file is not read into memory to leave no trace; SQLite's empty side files may then stay beside it. */
const MAX_COPY_BYTES = 64 * 1024 * 1024;
/** Where a database says whether it has a write-ahead log: 2 for yes, in both. */
const VERSION_BYTES = [18, 19];

export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return db.prepare('select sqlite_version()').pluck().get() as string;
  } finally {
    db.close();
  }
}

/**
 * Reads a task store that may be in use, and changes nothing.
 * @returns nothing where there is no such file, or nothing in it yet
 * @throws {StoreRefusedError} when it cannot be read, or is none, saying why.
 */
export function lookAtStore(file: string): StoreLook | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database.Database | undefined;
  try {
    if (statSync(file).size === 0) return undefined;
    db = openReadOnly(file);
    const schema = db.pragma('application_id', { simple: true }) === APPLICATION_ID ? schemaOf(db)?.schema : undefined;
    if (schema === undefined) throw new StoreRefusedError(`${file} is not a task store of longcall`);
    const open = db
      .prepare("select tool, count(*) as count from tasks where run_state <> 'done' group by tool order by tool")
      .all() as StoreLook['open'];
    const newestAt = db.prepare('select max(updated_at) from tasks').pluck().get() as number | null;
    return { schema, ownSchema: SCHEMA_VERSION, open, newestAt: newestAt ?? undefined };
  } catch (error) {
    throw refusal(file, error);
  } finally {
    db?.close();
  }
}

/**
 * A file that nobody has open is whole by itself, and is read as it is: opening it would lay a log and an index beside it. Where
 * those are there, only with them is it whole.
 */
function openReadOnly(file: string): Database.Database {
  const inUse = (): boolean => existsSync(`${file}-wal`) || existsSync(`${file}-shm`);
  if (!inUse() && statSync(file).size <= MAX_COPY_BYTES) {
    const copy = readFileSync(file);
    // Somebody who opened it meanwhile may have written while it was read.
    if (!inUse()) {
      for (const at of VERSION_BYTES) if (copy[at] === 2) copy[at] = 1; // A copy in memory has no log.
      return new Database(copy, { readonly: true });
    }
  }
  return new Database(file, { fileMustExist: true, readonly: true, timeout: 2_000 });
}
