import { chmodSync, existsSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { isBusy } from './errors.ts';

/**
 * A lock between processes of one machine: an exclusive transaction on a small SQLite file of its own. The operating system
 * lets go of it the moment the process dies, and children do not inherit it.
 */
export class FileLock {
  readonly #db: Database.Database;

  private constructor(db: Database.Database) {
    this.#db = db;
  }

  /**
   * @param options.mustExist make no file where there is none
   * @param options.patienceMs how long to wait for a holder; meanwhile this process does nothing else. @default 0
   * @returns nothing where somebody holds it
   * @throws what the file system says, where it cannot be locked at all.
   */
  static take(path: string, { mustExist = false, patienceMs = 0 } = {}): FileLock | undefined {
    const db = new Database(path, { timeout: patienceMs, fileMustExist: mustExist });
    try {
      // Only where it must be: whoever watches the folder would hear of it each time.
      if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
      db.exec('begin exclusive');
      return new FileLock(db);
    } catch (error) {
      db.close();
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  /** Whether anybody holds it, this process included. */
  static isHeld(path: string): boolean {
    if (!existsSync(path)) return false;
    const lock = FileLock.take(path, { mustExist: true });
    lock?.release();
    return lock === undefined;
  }

  /** Lets go of it, as dying would. The file stays: removing it would let two hold what they take for the same lock. */
  release(): void {
    this.#db.close();
  }
}
