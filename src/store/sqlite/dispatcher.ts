import type Database from 'better-sqlite3';
import type { Clock, TaskId, Timer } from '../../core/index.ts';
import { all } from '../sql/statement.ts';
import type { Statements } from '../sql/statements.ts';
import type { Dispatcher } from '../store.ts';
import type { GroupCommit } from './group-commit.ts';

type Listener = (changed: ReadonlySet<TaskId> | undefined) => void;

/** How often to look whether another process has committed. */
const OTHER_PROCESS_MS = 250;

/** Ready tasks are found by asking the table; wake-ups come from our own commits, and from watching others'. */
export class ScanDispatcher implements Dispatcher {
  readonly #commits: GroupCommit;
  readonly #statements: Statements;
  readonly #clock: Clock;
  readonly #dataVersion: () => number;
  readonly #listeners = new Set<Listener>();
  #seenVersion: number;
  #timer: Timer | undefined;

  constructor(db: Database.Database, commits: GroupCommit, statements: Statements, clock: Clock) {
    this.#commits = commits;
    this.#statements = statements;
    this.#clock = clock;
    const version = db.prepare('pragma data_version').pluck();
    this.#dataVersion = () => version.get() as number;
    this.#seenVersion = this.#dataVersion();
  }

  async take(limit: number): Promise<TaskId[]> {
    const now = this.#clock.now();
    const rows = await this.#commits.read(() => all(this.#statements.listReady, { now, limit }));
    return rows.map(({ id }) => id);
  }

  onBell(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#watch();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  /** Tells listeners what a commit of this process changed. */
  ring(changed: ReadonlySet<TaskId> | undefined): void {
    for (const listener of this.#listeners) listener(changed);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #watch(): void {
    this.#timer ??= this.#clock.setTimer(OTHER_PROCESS_MS, () => {
      this.#timer = undefined;
      const version = this.#dataVersion(); // Moves only when another connection committed.
      if (version !== this.#seenVersion) {
        this.#seenVersion = version;
        this.ring(undefined);
      }
      if (this.#listeners.size > 0) this.#watch();
    });
  }
}
