import Database from 'better-sqlite3';
import {
  type Clock,
  type RandomSource,
  randomFraction,
  StoreClosedError,
  StoreFailedError,
  StoreUnavailableError,
} from '../../core/index.ts';
import type { Command, Op, OpResult, Statement } from '../sql/statement.ts';

export interface WriteOptions<Result> {
  /** Whether the result may only be announced after a flush to disk. */
  flush: boolean;
  /** The tasks that readers will see differently. Nothing rings without it. */
  changed?: (result: Result) => readonly string[];
}

interface Pending {
  command: () => Command<unknown>;
  flush: boolean;
  changed: ((result: never) => readonly string[]) | undefined;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

type Outcome = { ok: true; result: unknown } | { ok: false; error: unknown };

/** One commit holds the event loop for one flush and the statements of this many commands at most. */
const MAX_GROUP = 128;
const BUSY_RETRY_MIN_MS = 1;
const BUSY_RETRY_SPREAD_MS = 2;
/** A lock that is held this long is a fault worth an error, not a wait. */
const BUSY_GIVE_UP_MS = 30_000;

/**
 * Runs commands on one SQLite connection. Everything that is waiting when the event loop comes round shares one
 * transaction and one flush, which is what makes `synchronous=FULL` affordable. A busy database is tried again
 * asynchronously: SQLite's own busy handler would sleep inside the event loop.
 */
export class GroupCommit {
  readonly #db: Database.Database;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #ring: (changed: ReadonlySet<string>) => void;
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>();
  readonly #begin: Database.Statement;
  readonly #beginRead: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  #queue: Pending[] = [];
  #scheduled = false;
  #flushing = true;
  #busySince: number | undefined;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(
    db: Database.Database,
    options: { clock: Clock; random: RandomSource; ring: (changed: ReadonlySet<string>) => void },
  ) {
    this.#db = db;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#ring = options.ring;
    this.#begin = db.prepare('begin immediate');
    this.#beginRead = db.prepare('begin');
    this.#commit = db.prepare('commit');
    this.#rollback = db.prepare('rollback');
  }

  /** Queues a command; resolves after the commit that carries it. */
  write<Result>(command: () => Command<Result>, options: WriteOptions<Result>): Promise<Result> {
    if (this.#closed) return Promise.reject(new StoreClosedError());
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({
        command,
        flush: options.flush,
        changed: options.changed,
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      this.#schedule();
    });
  }

  /** Runs a reading command at once, over one snapshot. */
  async read<Result>(command: () => Command<Result>): Promise<Result> {
    for (const since = this.#clock.monotonic(); ; await this.#pause()) {
      if (this.#closed) throw new StoreClosedError();
      try {
        this.#beginRead.run();
        try {
          return this.#drive(command());
        } finally {
          if (this.#db.inTransaction) this.#commit.run();
        }
      } catch (error) {
        if (!isBusy(error)) throw asStoreError(error);
        if (this.#clock.monotonic() - since > BUSY_GIVE_UP_MS) throw asStoreError(error);
      }
    }
  }

  /** Commits what is queued, then refuses everything. */
  async close(): Promise<void> {
    this.#closed = true; // First: what is resolved on the way must not queue anything more.
    if (this.#queue.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    const group = this.#queue.splice(0, MAX_GROUP);
    if (group.length > 0) this.#commitGroup(group);
    if (this.#queue.length > 0) {
      if (this.#busySince === undefined) this.#schedule();
      return;
    }
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #commitGroup(group: Pending[]): void {
    try {
      this.#setFlushing(group.some((pending) => pending.flush));
      this.#begin.run();
    } catch (error) {
      if (isBusy(error)) this.#retryLater(group, error);
      else for (const pending of group) pending.reject(asStoreError(error));
      return;
    }
    this.#busySince = undefined;
    let outcomes: Outcome[];
    try {
      outcomes = group.map((pending) => ({ ok: true, result: this.#drive(pending.command()) }));
      this.#commit.run();
    } catch (error) {
      this.#abandon();
      // One command that fails must not take the others with it: each gets a transaction of its own. The commands are
      // pure, so starting them again is safe.
      outcomes = group.length === 1 ? [{ ok: false, error }] : group.map((pending) => this.#alone(pending));
    }
    this.#settle(group, outcomes);
  }

  #alone(pending: Pending): Outcome {
    try {
      this.#begin.run();
      const result = this.#drive(pending.command());
      this.#commit.run();
      return { ok: true, result };
    } catch (error) {
      this.#abandon();
      return { ok: false, error };
    }
  }

  #settle(group: Pending[], outcomes: Outcome[]): void {
    const changed = new Set<string>();
    for (const [index, pending] of group.entries()) {
      const outcome = outcomes[index] as Outcome;
      if (!outcome.ok) {
        pending.reject(asStoreError(outcome.error));
        continue;
      }
      for (const taskId of pending.changed?.(outcome.result as never) ?? []) changed.add(taskId);
      pending.resolve(outcome.result);
    }
    if (changed.size > 0) this.#ring(changed);
  }

  #retryLater(group: Pending[], error: unknown): void {
    this.#busySince ??= this.#clock.monotonic();
    if (this.#clock.monotonic() - this.#busySince > BUSY_GIVE_UP_MS) {
      this.#busySince = undefined;
      for (const pending of group) pending.reject(asStoreError(error));
      return;
    }
    this.#queue.unshift(...group);
    void this.#pause().then(() => this.#schedule());
  }

  /** Jittered, so that two processes that met once do not meet again. Real time: another process holds the lock. */
  #pause(): Promise<void> {
    const delayMs = BUSY_RETRY_MIN_MS + randomFraction(this.#random) * BUSY_RETRY_SPREAD_MS;
    return new Promise((resolve) => setTimeout(resolve, delayMs));
  }

  /**
   * A group in which nothing needs a flush skips it: after a power cut every process that saw its effect is dead, and
   * any later flush carries it along.
   */
  #setFlushing(flush: boolean): void {
    if (flush === this.#flushing) return;
    this.#db.pragma(`synchronous = ${flush ? 'FULL' : 'NORMAL'}`);
    this.#flushing = flush;
  }

  #abandon(): void {
    // Some errors (disk full, I/O) have rolled back already.
    if (this.#db.inTransaction) this.#rollback.run();
  }

  #drive<Result>(command: Command<Result>): Result {
    let step = command.next();
    while (!step.done) step = command.next(this.#execute(step.value));
    return step.value;
  }

  #execute(op: Op): OpResult {
    let prepared = this.#prepared.get(op.statement);
    if (prepared === undefined) {
      prepared = this.#db.prepare(op.statement.sql);
      this.#prepared.set(op.statement, prepared);
    }
    const values = op.statement.bind(op.args as never);
    switch (op.want) {
      case 'changes':
        return { changes: prepared.run(values).changes, row: undefined, rows: [] };
      case 'one':
        return { changes: 0, row: prepared.get(values), rows: [] };
      case 'all':
        return { changes: 0, row: undefined, rows: prepared.all(values) };
    }
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** What passes by itself or when an operator makes room; everything else is a fault of ours or of the disk. */
const TRANSIENT = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PROTOCOL|INTERRUPT)/;

/** Domain errors pass; what SQLite says becomes the store's own error, with the cause kept. */
function asStoreError(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  if (!TRANSIENT.test(error.code)) {
    return new StoreFailedError(`the task store failed: ${error.message}`, { cause: error });
  }
  const advice = error.code === 'SQLITE_FULL' ? 'the disk is full; free some space and try again' : error.message;
  return new StoreUnavailableError(`the task store cannot be used right now: ${advice}`, { cause: error });
}
