import {
  type Clock,
  isTerminalStatus,
  type Logger,
  type RandomSource,
  retryReadDelayMs,
  shortId,
  type TaskId,
  type TaskStatus,
} from '../../core/index.ts';

export interface KeeperParts {
  clock: Clock;
  random: RandomSource;
  logger: Logger;
  watch: (taskId: TaskId, listener: () => void) => () => void;
  /** `undefined`: there is no such task any more. */
  statusOf: (taskId: TaskId) => Promise<TaskStatus | undefined>;
}

/** What is done for a job once its task is over. Both may be called more than once. */
export interface KeptJob {
  /** Absent where it cannot be cancelled, or cancels itself. */
  cancel?: () => Promise<void>;
  release?: () => Promise<void>;
}

interface Entry {
  taskId: TaskId;
  job: KeptJob;
  /** It is over itself: its task's end only means that it may be forgotten. */
  over: boolean;
  unwatch: () => void;
}

/** Jobs that were begun for tasks here: the end of a task ends its jobs, wherever the task was when it ended. */
export class JobKeeper {
  readonly #parts: KeeperParts;
  readonly #jobs = new Map<string, Entry>();
  /** Who looks at a job here. */
  readonly #hints = new Map<string, () => void>();
  #stopped = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** @param key its own in all tasks, the same in every run; what was kept under it is replaced */
  keep(key: string, taskId: TaskId, job: KeptJob): void {
    if (this.#stopped) return;
    this.#jobs.get(key)?.unwatch();
    const entry: Entry = { taskId, job, over: false, unwatch: () => {} };
    this.#jobs.set(key, entry);
    entry.unwatch = this.#parts.watch(taskId, () => void this.#look(key, entry));
    void this.#look(key, entry); // It may have ended before we watched.
  }

  /** Its task is over, and was when this process began. */
  async end(taskId: TaskId, job: KeptJob): Promise<void> {
    await this.#surely(taskId, job, 'cancel');
    await this.#surely(taskId, job, 'release');
  }

  /** The job has ended by itself. */
  over(key: string): void {
    const entry = this.#jobs.get(key);
    if (entry !== undefined) entry.over = true;
  }

  /** Nothing is left to be done for it. */
  forget(key: string): void {
    this.#jobs.get(key)?.unwatch();
    this.#jobs.delete(key);
    this.#hints.delete(key);
  }

  /** The task of a job that was begun here; `undefined`: there is none, or nothing is left to be done for it. */
  taskOf(key: string): TaskId | undefined {
    return this.#jobs.get(key)?.taskId;
  }

  /** Calls back whenever a job may have news, until it is forgotten, or somebody else here looks at it. */
  onHint(key: string, listener: () => void): void {
    this.#hints.set(key, listener);
  }

  /** A job may have news: whoever waits to look at it here looks now. */
  hinted(key: string): void {
    this.#hints.get(key)?.();
  }

  stop(): void {
    this.#stopped = true;
    for (const key of [...this.#jobs.keys()]) this.forget(key);
  }

  async #look(key: string, entry: Entry): Promise<void> {
    let status: TaskStatus | undefined;
    try {
      status = await this.#parts.statusOf(entry.taskId);
    } catch (error) {
      this.#parts.logger.error({ task: shortId(entry.taskId), error }, 'the task of a job could not be looked at');
      return; // The next change of any task rings again.
    }
    if (status !== undefined && !isTerminalStatus(status)) return;
    if (this.#jobs.get(key) !== entry) return;
    this.forget(key);
    if (!entry.over && status !== 'completed') await this.#surely(entry.taskId, entry.job, 'cancel');
    await this.#surely(entry.taskId, entry.job, 'release');
  }

  /** Again and again, as long as this process lives: a job that nobody waits for costs somebody something. */
  async #surely(taskId: TaskId, job: KeptJob, what: 'cancel' | 'release'): Promise<void> {
    const { clock, random, logger } = this.#parts;
    for (let failures = 1; !this.#stopped; failures += 1) {
      try {
        return await job[what]?.();
      } catch (error) {
        const fields = { task: shortId(taskId), error };
        if (what === 'release') return logger.debug(fields, 'a job could not be told that it is over');
        logger.warn(fields, 'the job of a task that is over could not be cancelled; trying again');
        const { retryAfterMs } = error as { retryAfterMs?: unknown };
        await new Promise<void>((resolve) => {
          clock.setTimer(retryReadDelayMs(failures, retryAfterMs, random), resolve);
        });
      }
    }
  }
}
