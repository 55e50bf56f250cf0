import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import Database from 'better-sqlite3';
import { StoreRefusedError } from '../../core/index.ts';
import { SCHEMA_VERSION } from '../sql/migrations.ts';
import type { StoreBackend } from '../store.ts';
import { APPLICATION_ID, refusal, schemaOf } from './open.ts';
import { type SqliteStoreOptions, sqliteStore } from './sqlite-store.ts';

/**
 * Tasks in a file that must be there already, for tools that look after them: it is neither created nor brought up to
 * date, and a file that is no task store is left as it is.
 */
export function existingSqliteStore(path: string, options: SqliteStoreOptions = {}): StoreBackend {
  const file = resolve(path);
  return {
    async open(environment) {
      checkFile(file);
      return sqliteStore(file, options).open(environment);
    },
  };
}

function checkFile(file: string): void {
  if (!existsSync(file)) throw new StoreRefusedError(`${file} does not exist; name the database file of a server`);
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { fileMustExist: true, readonly: true });
    const schema = db.pragma('application_id', { simple: true }) === APPLICATION_ID ? schemaOf(db)?.schema : undefined;
    if (schema === undefined)
      throw new StoreRefusedError(`${file} is not a task store of longcall; name the file that the server was given`);
    if (schema < SCHEMA_VERSION) {
      throw new StoreRefusedError(
        `${file} was written by an older release of longcall (schema ${schema}, this one knows ${SCHEMA_VERSION}); ` +
          'start a server of this release once, which brings it up to date',
      );
    }
  } catch (error) {
    throw refusal(file, error);
  } finally {
    db?.close();
  }
}
