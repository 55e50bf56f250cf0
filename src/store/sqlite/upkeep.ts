import type Database from 'better-sqlite3';
import { type Logger, StoreClosedError, StoreUnavailableError } from '../../core/index.ts';
import type { StorageSize } from '../operator-store.ts';
import { turn } from '../sql/turn.ts';
import { asStoreError, isBusy } from './errors.ts';
import { patiently } from './open.ts';
import type { WriteAheadLog } from './write-ahead-log.ts';

/** Free space that stays for what comes next, beside a quarter of what is in use: it would only be taken again. */
const SPARE_BYTES = 16 * 1024 * 1024;
/** Pages given back at a time: some milliseconds, in which nothing else runs. */
const PIECE_PAGES = 128;
/** The most pieces of one round. The next one goes on. */
const MAX_PIECES = 32;

interface Pages {
  size: number;
  count: number;
  free: number;
}

/** Looks after the size of the database file and its log, and says what it is. */
export class Upkeep {
  readonly #db: Database.Database;
  readonly #log: WriteAheadLog | undefined;
  readonly #logger: Logger;
  readonly #pages: Database.Statement;
  readonly #givesBack: boolean;

  /** @param log undefined for a store in memory */
  constructor(db: Database.Database, log: WriteAheadLog | undefined, logger: Logger) {
    this.#db = db;
    this.#log = log;
    this.#logger = logger;
    this.#pages = db.prepare(
      `select page_size as size, page_count as count, freelist_count as free
        from pragma_page_size, pragma_page_count, pragma_freelist_count`,
    );
    this.#givesBack = log !== undefined && db.pragma('auto_vacuum', { simple: true }) === INCREMENTAL;
  }

  /** @throws {StoreUnavailableError} when the file cannot be read right now. */
  size(): StorageSize {
    if (!this.#db.open) throw new StoreClosedError();
    try {
      const { size, count, free } = this.#pages.get() as Pages;
      const [walBytes, lagBytes] = this.#log === undefined ? [0, 0] : [this.#log.bytes, this.#log.lagBytes];
      return { fileBytes: size * count, freeBytes: size * free, walBytes, lagBytes };
    } catch (error) {
      throw asStoreError(error);
    }
  }

  /** After each commit. */
  committed(): void {
    this.#carefully(() => this.#log?.keepWithin());
  }

  /** Now and then, also while nobody writes. */
  async round(): Promise<void> {
    this.committed();
    if (!this.#givesBack) return;
    let shrunk = false;
    for (let piece = 0; piece < MAX_PIECES && this.#carefully(() => this.#giveBack()); piece += 1) {
      shrunk = true;
      await turn();
    }
    // The file itself becomes shorter when the log is copied into it.
    if (shrunk) this.#carefully(() => this.#db.pragma('wal_checkpoint(PASSIVE)'));
  }

  /**
   * Writes the whole file anew, so that nothing stays of what was deleted or overwritten. Others can read, and wait to write,
   * for as long as that takes.
   */
  async vacuum(): Promise<void> {
    await patiently(() => void this.#db.exec('vacuum'));
    await patiently(() => {
      const [{ busy }] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
      if (busy !== 0)
        throw new StoreUnavailableError('the write-ahead log is in use; close what reads the file, and try again');
    });
  }

  /** Gives a piece of what is free back to the file system. False: there is not enough of it. */
  #giveBack(): boolean {
    const { size, count, free } = this.#pages.get() as Pages;
    const excess = free - Math.max(Math.ceil(SPARE_BYTES / size), Math.ceil((count - free) / 4));
    if (excess <= 0) return false;
    this.#db.exec(`pragma incremental_vacuum(${Math.min(excess, PIECE_PAGES)})`);
    return true;
  }

  /** Whatever goes wrong, there is another round; a lock that another process holds is not worth a word. */
  #carefully<Result>(action: () => Result): Result | undefined {
    if (!this.#db.open) return undefined;
    try {
      return action();
    } catch (error) {
      if (!isBusy(error)) this.#logger.warn({ error }, 'the size of the task store could not be looked after');
      return undefined;
    }
  }
}

/** SQLite's number for a file that gives free pages back when it is told to. */
const INCREMENTAL = 2;
