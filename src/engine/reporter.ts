import type { Clock, Logger, TaskProgress, Timer } from '../core/index.ts';
import { logText, shortId } from '../core/index.ts';
import type { Lease, LogEntry, TaskStore } from '../store/index.ts';
import type { LogLevel } from './context.ts';
import { LogBacklog } from './log-backlog.ts';

/** Reports closer together than this are written as one. */
const COALESCE_MS = 100;
/** Every poller gets the message; more than a line of it belongs in the log. */
const MAX_MESSAGE_LENGTH = 1_000;

export interface ReporterParts {
  store: TaskStore;
  clock: Clock;
  logger: Logger;
  /** What is kept of the task's log. */
  maxLogBytes?: number | undefined;
  /** Lines of the log were written: others than the store's listeners are told by nobody else. */
  logged: () => void;
}

/**
 * A handler's progress and log on their way to the store: gathered, written in batches, and never a reason for the
 * handler to fail.
 */
export class Reporter {
  readonly #store: TaskStore;
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxLogBytes: number | undefined;
  readonly #logged: () => void;
  #progress: TaskProgress | undefined;
  #said: string | undefined;
  #pollIntervalMs: number | undefined;
  readonly #backlog = new LogBacklog();
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(lease: Lease, { store, clock, logger, maxLogBytes, logged }: ReporterParts) {
    this.#store = store;
    this.#lease = lease;
    this.#clock = clock;
    this.#logger = logger;
    this.#maxLogBytes = maxLogBytes;
    this.#logged = logged;
  }

  progress(progress: number, total?: number, message?: string): void {
    if (this.#closed || !Number.isFinite(progress)) return;
    this.#progress = {
      progress,
      ...(Number.isFinite(total) && { total: total as number }),
      ...(message !== undefined && { message: String(message).slice(0, MAX_MESSAGE_LENGTH) }),
    };
    this.#schedule();
  }

  say(message: string): void {
    if (this.#closed) return;
    this.#said = message.slice(0, MAX_MESSAGE_LENGTH);
    this.#schedule();
  }

  /** How long pollers are to wait between looks, in milliseconds. */
  pollEvery(ms: number): void {
    if (this.#closed) return;
    this.#pollIntervalMs = ms;
    this.#schedule();
  }

  /**
   * @param at when it was written, where that was earlier, in milliseconds since the Unix epoch
   * @param stream where a process wrote it, if one did
   */
  log(text: string, level: LogLevel, at: number = this.#clock.now(), stream?: LogEntry['stream']): void {
    if (this.#closed) return;
    this.#backlog.push({ level, text: logText(text), at, ...(stream !== undefined && { stream }) });
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
    if (this.#progress !== undefined || this.#said !== undefined || !this.#backlog.isEmpty)
      this.#writing = this.flush();
    await this.#writing;
  }

  #schedule(): void {
    this.#timer ??= this.#clock.setTimer(COALESCE_MS, () => void this.flush());
  }

  async #write(): Promise<void> {
    const report = {
      ...(this.#progress !== undefined && { progress: this.#progress }),
      ...(this.#said !== undefined && { statusMessage: this.#said }),
      ...(this.#pollIntervalMs !== undefined && { pollIntervalMs: this.#pollIntervalMs }),
    };
    const batches = this.#backlog.take();
    this.#progress = undefined;
    this.#said = undefined;
    this.#pollIntervalMs = undefined;
    try {
      if (Object.keys(report).length > 0) await this.#store.report(this.#lease, report);
      for (const lines of batches) await this.#store.appendLog(this.#lease, lines, this.#maxLogBytes);
      if (batches.length > 0) this.#logged();
    } catch (error) {
      this.#logger.warn({ task: shortId(this.#lease.taskId), error }, 'progress or log of a task could not be written');
    }
  }
}
