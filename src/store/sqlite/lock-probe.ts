import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { FileLock } from './file-lock.ts';

export type LockProbe = 'kept' | 'ignored' | { failed: string };

/** Only another process can tell: within one, SQLite knows its own locks without asking the file system. */
const TAKE = `
const Database = require(process.argv[1]);
const db = new Database(process.argv[2], { timeout: 0, fileMustExist: true });
try {
  db.exec('begin exclusive');
  process.exitCode = 10;
} catch (error) {
  process.exitCode = /^SQLITE_(BUSY|LOCKED)/.test(error.code) ? 11 : 12;
  process.stderr.write(String(error.message));
}`;

/**
 * Whether a file system keeps a lock of one process from another, as the store relies on.
 * @param folder where it is tried; what is laid there is the caller's to remove
 */
export async function probeLocks(folder: string): Promise<LockProbe> {
  const file = join(folder, 'lock');
  let lock: FileLock | undefined;
  try {
    lock = FileLock.take(file);
    if (lock === undefined) return { failed: 'somebody else holds it' };
    const driver = createRequire(import.meta.url).resolve('better-sqlite3');
    return await other([driver, file]);
  } catch (error) {
    return { failed: (error as Error).message };
  } finally {
    lock?.release();
  }
}

function other(args: readonly string[]): Promise<LockProbe> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['-e', TAKE, ...args], { timeout: 10_000 }, (_error, _out, said) => {
      if (child.exitCode === 11) resolve('kept');
      else if (child.exitCode === 10) resolve('ignored');
      else resolve({ failed: said.trim().split('\n').at(-1) ?? 'another process could not try it' });
    });
  });
}
