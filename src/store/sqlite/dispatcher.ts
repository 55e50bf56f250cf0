import type Database from 'better-sqlite3';
import { type Clock, type Logger, type TaskId, type Timer, untilNext } from '../../core/index.ts';
import { FIRST_TURN, type Turn, take } from '../sql/commands/index.ts';
import type { Statements } from '../sql/statements.ts';
import type { Dispatcher, Taken, TakeOptions } from '../store.ts';
import { Bell } from './bell.ts';
import type { GroupCommit } from './group-commit.ts';
import { othersCommits } from './others-commits.ts';

type Listener = (changed: ReadonlySet<TaskId> | undefined) => void;

/** How often to look whether another process has committed, in case a bell was lost. */
const NET_MS = 250;
/** The same where the bell does not work at all. */
const FAST_NET_MS = 25;
/** A bell that has not been heard within this time of being rung does not work here. */
const PROBE_MS = 1_000;

export interface ScanDispatcherParts {
  db: Database.Database;
  commits: GroupCommit;
  statements: Statements;
  clock: Clock;
  logger: Logger;
  /** The bell file; undefined for a store that no other process can see. */
  bellPath: string | undefined;
}

/** Ready tasks are found by asking the table; wake-ups come from our own commits, the bell, and a net under it. */
export class ScanDispatcher implements Dispatcher {
  readonly #parts: ScanDispatcherParts;
  readonly #othersCommitted: () => boolean;
  readonly #listeners = new Set<Listener>();
  #turn: Turn = FIRST_TURN;
  #bell: Bell | undefined;
  #heard = false;
  #netMs = NET_MS;
  #net: Timer | undefined;
  #probe: Timer | undefined;

  constructor(parts: ScanDispatcherParts) {
    this.#parts = parts;
    this.#othersCommitted = othersCommits(parts.db);
  }

  async take(options: TakeOptions): Promise<Taken> {
    const { commits, statements, clock } = this.#parts;
    const { taken, turn } = await commits.read(() => take(statements, options, this.#turn, clock.now()));
    this.#turn = turn;
    return taken;
  }

  onBell(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#listen();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.stop();
    };
  }

  /** Tells everybody what a commit of this process changed. */
  ring(changed: ReadonlySet<TaskId>): void {
    for (const listener of this.#listeners) listener(changed);
    this.#bell?.ring();
  }

  stop(): void {
    this.#net?.cancel();
    this.#probe?.cancel();
    this.#net = undefined;
    this.#bell?.close();
    this.#bell = undefined;
  }

  #listen(): void {
    const { bellPath, clock, logger } = this.#parts;
    if (bellPath === undefined || this.#net !== undefined) return;
    try {
      this.#bell ??= new Bell(bellPath, () => this.#bellRang(), logger);
      this.#heard = false;
      this.#bell.ring(); // Whether it can be heard at all is tried at once.
      this.#probe = clock.setTimer(PROBE_MS, () => {
        if (this.#heard) return;
        logger.warn({ path: bellPath }, 'the bell file is not heard on this file system; polling for changes instead');
        this.#netMs = FAST_NET_MS;
      });
    } catch (error) {
      logger.warn({ error }, 'the bell file cannot be used; polling for changes instead');
      this.#netMs = FAST_NET_MS;
    }
    this.#castNet();
  }

  #bellRang(): void {
    this.#heard = true;
    this.#lookForOthers();
  }

  #castNet(): void {
    const { clock } = this.#parts;
    this.#net = clock.setTimer(untilNext(this.#netMs, clock), () => {
      this.#lookForOthers();
      if (this.#listeners.size > 0) this.#castNet();
    });
  }

  /** Our own commits say nothing new. */
  #lookForOthers(): void {
    if (!this.#parts.db.open || !this.#othersCommitted()) return;
    for (const listener of this.#listeners) listener(undefined);
  }
}
