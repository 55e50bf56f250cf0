import { lstatSync } from 'node:fs';
import { StoreRefusedError } from '../../core/index.ts';

/** What lies beside a database: SQLite's own files, and ours. */
const BESIDE = ['', '-wal', '-shm', '-journal', '.bell', '.workers'];

const ROOT = 0;

/**
 * Nothing is written into a file that another user of this machine has laid here: in a folder that several may write to,
 * he would read every payload, hand us tasks of his own, or lead us by a link to a file that is not his. A link is its
 * maker's, wherever it leads; links of one's own are fine. Root may look after the files of others.
 * @param uid who this process is; `undefined` where there is no such thing
 * @throws {StoreRefusedError} naming the file and what to do.
 */
export function assertOwn(file: string, uid: number | undefined = process.getuid?.()): void {
  if (uid === undefined || uid === ROOT) return;
  for (const suffix of BESIDE) {
    const owner = lstatSync(file + suffix, { throwIfNoEntry: false })?.uid;
    if (owner === undefined || owner === uid || owner === ROOT) continue;
    throw new StoreRefusedError(
      `${file}${suffix} belongs to another user (uid ${owner}); run as that user, ` +
        'or put the store into a folder that only this one may write to',
    );
  }
}
