import type { Clock, Logger, TaskProgress, Timer } from '../core/index.ts';
import { shortId } from '../core/index.ts';
import type { Lease, LogEntry, TaskStore } from '../store/index.ts';
import type { LogLevel } from './context.ts';

/** Reports closer together than this are written as one. */
const COALESCE_MS = 100;
/** A handler that logs faster than the store writes loses the oldest unwritten lines, and the log says so. */
const MAX_PENDING_LINES = 10_000;

/**
 * A handler's progress and log on their way to the store: gathered, written in batches, and never a reason for the
 * handler to fail.
 */
export class Reporter {
  readonly #store: TaskStore;
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #progress: TaskProgress | undefined;
  #lines: LogEntry[] = [];
  #dropped = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(store: TaskStore, lease: Lease, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#lease = lease;
    this.#clock = clock;
    this.#logger = logger;
  }

  progress(progress: number, total?: number, message?: string): void {
    if (this.#closed || !Number.isFinite(progress)) return;
    this.#progress = {
      progress,
      ...(Number.isFinite(total) && { total: total as number }),
      ...(message !== undefined && { message: String(message) }),
    };
    this.#schedule();
  }

  log(text: string, level: LogLevel): void {
    if (this.#closed) return;
    if (this.#lines.length >= MAX_PENDING_LINES) {
      this.#lines.shift();
      this.#dropped += 1;
    }
    this.#lines.push({ level, text: String(text), at: this.#clock.now() });
    this.#schedule();
  }

  /** Writes what is waiting. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Writes what is left, so that watchers see how far it came, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#progress !== undefined || this.#lines.length > 0) this.#writing = this.flush();
    await this.#writing;
  }

  #schedule(): void {
    this.#timer ??= this.#clock.setTimer(COALESCE_MS, () => void this.flush());
  }

  async #write(): Promise<void> {
    const progress = this.#progress;
    const lines = this.#lines;
    if (this.#dropped > 0) {
      const text = `… ${this.#dropped} lines were logged faster than they could be written, and dropped`;
      lines.unshift({ level: 'warning', text, at: this.#clock.now() });
    }
    this.#progress = undefined;
    this.#lines = [];
    this.#dropped = 0;
    try {
      if (progress !== undefined) await this.#store.report(this.#lease, { progress });
      if (lines.length > 0) await this.#store.appendLog(this.#lease, lines);
    } catch (error) {
      this.#logger.warn({ task: shortId(this.#lease.taskId), error }, 'progress or log of a task could not be written');
    }
  }
}
