import { errorKind, type JsonValue } from '../../core/index.ts';
import type { JobState } from './job-state.ts';
import { napFor } from './nap-for.ts';
import type { OneStart } from './one-start.ts';
import { troubled } from './trouble.ts';

/** So much is read while the job runs, before it is looked at again. */
const PAGES_AT_A_TIME = 20;
/** So often the rest is asked for once the job is over, before its result goes out without. */
const LAST_TRIES = 3;

/**
 * The job's log, read into the task's. Where reading is taken up is kept after each page, when its lines are in the task's log: a
 * process that dies in between has one page told twice, and none missed.
 */
export class JobLog<Args, Ref extends JsonValue> {
  readonly #one: OneStart<Args, Ref>;
  readonly #state: JobState;
  readonly #ref: () => Ref;

  constructor(one: OneStart<Args, Ref>, state: JobState, ref: () => Ref) {
    this.#one = one;
    this.#state = state;
    this.#ref = ref;
  }

  /** Something may come yet that is worth looking for. */
  get isLive(): boolean {
    const { caps, logs } = this.#one.adapter;
    return caps.logs === 'live' && logs !== undefined && !this.#state.now.logRead;
  }

  /** What is new. What cannot be read now is read the next time. */
  async pull(): Promise<void> {
    if (!this.isLive) return;
    try {
      await this.#read(PAGES_AT_A_TIME);
    } catch (error) {
      if (this.#one.task.signal.aborted) throw error;
      this.#one.task.log(`the log of ${this.#one.name} could not be read (${errorKind(error)})`, 'debug');
    }
  }

  /** The rest: the job is over. */
  async finish(): Promise<void> {
    const { adapter, task, name } = this.#one;
    if (adapter.caps.logs === 'none' || adapter.logs === undefined || this.#state.now.logRead) return;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#read(Number.POSITIVE_INFINITY);
      } catch (error) {
        if (task.signal.aborted) throw error;
        if (tries === LAST_TRIES) {
          return task.log(`the rest of the log of ${name} could not be read (${errorKind(error)})`, 'warning');
        }
        await napFor(this.#one, this.#state, await troubled(this.#one, this.#state, error));
      }
    }
  }

  async #read(pages: number): Promise<void> {
    const { adapter, support, context } = this.#one;
    let { cursor: from } = this.#state.now;
    for (let read = 0; read < pages; read += 1) {
      const page = await support.working(async () => adapter.logs?.(this.#ref(), from, context));
      if (page === undefined) return;
      for (const line of page.lines) support.logLine(line);
      if (page.lines.length > 0) await support.working(() => support.written());
      const { cursor, eof } = page;
      if (page.lines.length > 0) await this.#state.keep({ cursor, logRead: eof });
      else this.#state.note({ cursor, logRead: eof });
      if (eof || page.lines.length === 0 || cursor === from) return;
      from = cursor;
    }
  }
}
