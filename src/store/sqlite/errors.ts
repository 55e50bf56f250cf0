import Database from 'better-sqlite3';
import { StoreFailedError, StoreUnavailableError } from '../../core/index.ts';

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** What passes by itself or when an operator makes room; everything else is a fault of ours or of the disk. */
const TRANSIENT = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL|INTERRUPT)/;

/** Domain errors pass; what SQLite says becomes the store's own error, with the cause kept. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  if (!TRANSIENT.test(error.code)) {
    return new StoreFailedError(`the task store failed: ${error.message}`, { cause: error });
  }
  const advice = error.code === 'SQLITE_FULL' ? 'the disk is full; free some space and try again' : error.message;
  return new StoreUnavailableError(`the task store cannot be used right now: ${advice}`, { cause: error });
}
