import type Database from 'better-sqlite3';
import { type Clock, type RandomSource, randomFraction, StoreClosedError } from '../../core/index.ts';
import type { Command } from '../sql/statement.ts';
import { turn } from '../sql/turn.ts';
import { Driver } from './driver.ts';
import { asStoreError, isBusy } from './errors.ts';

export interface WriteOptions<Result> {
  /** Whether the result may only be announced after a flush to disk. */
  flush: boolean;
  /** The tasks that readers will see differently. Nothing rings without it. */
  changed?: (result: Result) => readonly string[];
}

export interface GroupCommitOptions {
  clock: Clock;
  random: RandomSource;
  /** Tells everybody what a commit changed. */
  ring: (changed: ReadonlySet<string>) => void;
  /** After each commit, and outside of any transaction. */
  committed: () => void;
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
/** A loop of nothing but reads never waits for anything, and would never let anybody else go on. */
const READS_PER_TURN = 64;
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
  readonly #committed: () => void;
  readonly #driver: Driver;
  readonly #begin: Database.Statement;
  readonly #beginRead: Database.Statement;
  readonly #commit: Database.Statement;
  readonly #rollback: Database.Statement;
  #reads = 0;
  #queue: Pending[] = [];
  #scheduled = false;
  #flushing = true;
  #busySince: number | undefined;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(db: Database.Database, options: GroupCommitOptions) {
    this.#db = db;
    this.#driver = new Driver(db);
    this.#clock = options.clock;
    this.#random = options.random;
    this.#ring = options.ring;
    this.#committed = options.committed;
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

  /** Runs a reading command, nearly always at once, over one snapshot. */
  async read<Result>(command: () => Command<Result>): Promise<Result> {
    this.#reads += 1;
    if (this.#reads % READS_PER_TURN === 0) await turn();
    for (const since = this.#clock.monotonic(); ; await this.#pause()) {
      if (this.#closed) throw new StoreClosedError();
      try {
        return this.#look(command);
      } catch (error) {
        if (!isBusy(error)) throw asStoreError(error);
        if (this.#clock.monotonic() - since > BUSY_GIVE_UP_MS) throw asStoreError(error);
      }
    }
  }

  /** One statement is a snapshot by itself. A command that turns out to need more starts again inside a transaction. */
  #look<Result>(command: () => Command<Result>): Result {
    const quick = command();
    const first = quick.next();
    if (first.done) return first.value;
    const second = quick.next(this.#driver.execute(first.value));
    if (second.done) return second.value;
    this.#beginRead.run();
    try {
      return this.#driver.drive(command());
    } finally {
      this.#abandon(); // Nothing was written. Unlike a commit, this cannot fail and leave a snapshot open.
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
      outcomes = group.map((pending) => ({ ok: true, result: this.#driver.drive(pending.command()) }));
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
      const result = this.#driver.drive(pending.command());
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
    this.#committed();
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
}
