import { statSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { Clock, Logger } from '../../core/index.ts';

/** How large the log may be before it is cut back. SQLite itself copies it into the file after every 4 MB. */
export const MAX_WAL_BYTES = 64 * 1024 * 1024;
/** How long whoever is in the way is left alone before the next try. */
const RETRY_MS = 1_000;

export interface WriteAheadLogParts {
  db: Database.Database;
  /** The database file; the log lies beside it. */
  file: string;
  maxBytes: number;
  clock: Clock;
  logger: Logger;
}

interface Checkpoint {
  /** Whether somebody was in the way. */
  busy: 0 | 1;
  /** Pages in the log, and how many of them are in the file as well. */
  log: number;
  checkpointed: number;
}

/**
 * What was committed and is not in the database file yet. It cannot be cut back while somebody, of whichever program,
 * reads a snapshot from before: our own reads end before the event loop goes on, a backup or an open shell may not.
 */
export class WriteAheadLog {
  readonly #parts: WriteAheadLogParts;
  readonly #path: string;
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(parts: WriteAheadLogParts) {
    this.#parts = parts;
    this.#path = `${parts.file}-wal`;
  }

  get bytes(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** How much of the log is not in the file. */
  get lagBytes(): number {
    const { db } = this.#parts;
    const { log, checkpointed } = this.#checkpoint('NOOP');
    return Math.max(0, log - checkpointed) * (db.pragma('page_size', { simple: true }) as number);
  }

  /** Cuts the log back if it is too large. Never waits for anybody: it is called again soon. */
  keepWithin(): void {
    const { clock, logger, maxBytes } = this.#parts;
    const walBytes = this.bytes;
    if (walBytes <= maxBytes) {
      this.#isBack(walBytes);
      return;
    }
    if (clock.monotonic() < this.#retryAt) return;
    this.#retryAt = clock.monotonic() + RETRY_MS;
    const { busy, log, checkpointed } = this.#checkpoint('TRUNCATE');
    if (busy === 0) this.#isBack(this.bytes);
    if (busy === 0 || log === checkpointed) return; // All is in the file: the next writer starts the log afresh.
    this.#failures += 1;
    if (this.#failures !== 2) return; // The first time it may be somebody who is about to finish; then it was said.
    logger.warn(
      { file: this.#path, walBytes, maxBytes },
      'the write-ahead log grows beyond its bound: another program reads an old state of the task store and does not ' +
        'finish (a backup, an open shell); the log is cut back as soon as it does',
    );
  }

  #isBack(walBytes: number): void {
    if (this.#failures >= 2) {
      this.#parts.logger.info({ file: this.#path, walBytes }, 'the write-ahead log is within its bound again');
    }
    this.#failures = 0;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  #checkpoint(how: 'NOOP' | 'TRUNCATE'): Checkpoint {
    const [checkpoint] = this.#parts.db.pragma(`wal_checkpoint(${how})`) as Checkpoint[];
    return checkpoint as Checkpoint;
  }
}
