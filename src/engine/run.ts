import {
  type Answer,
  type Clock,
  type Logger,
  StoreUnavailableError,
  shortId,
  TaskCancelledError,
  TaskInterruptedError,
  TaskTimedOutError,
  type TerminalState,
  type Timer,
} from '../core/index.ts';
import type { ClaimedTask, History, TaskPulse, TaskStore } from '../store/index.ts';
import type { Definition } from './definition.ts';
import { completed, internalError, thrown } from './outcome.ts';
import { Reporter } from './reporter.ts';
import { RunContext, type RunControl } from './run-context.ts';

export interface RunSettings {
  /** How long an unanswered question keeps its handler in memory. */
  holdInputMs: number;
  maxResultBytes: number;
}

/** Why a run ends before its handler does. */
type Interruption = 'cancelled' | 'lost' | 'parked' | 'released' | 'timed_out';

type HandlerEnd = { by: 'handler'; outcome: TerminalState } | { by: Interruption };

/** How long to wait before an outcome that could not be written is tried again. */
const FINISH_RETRY_MS = 500;
const EMPTY_HISTORY: History = { steps: [], questions: [] };

/** One run of a handler under one lease. */
export class Run implements RunControl {
  readonly claimed: ClaimedTask;
  readonly #definition: Definition;
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settings: RunSettings;
  readonly #controller = new AbortController();
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #interrupted: Promise<HandlerEnd>;
  #interrupt: (by: Interruption) => void = () => {};
  #by: Interruption | undefined;
  #busy = 0;
  #hold: Timer | undefined;

  constructor(
    claimed: ClaimedTask,
    definition: Definition,
    parts: { store: TaskStore; clock: Clock; logger: Logger; settings: RunSettings },
  ) {
    this.claimed = claimed;
    this.#definition = definition;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#settings = parts.settings;
    this.#interrupted = new Promise((resolve) => {
      this.#interrupt = (by) => {
        if (this.#by !== undefined) return;
        this.#by = by;
        this.#controller.abort(this.#reason(by));
        resolve({ by });
      };
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get over(): boolean {
    return this.#by === 'lost' || this.#by === 'parked' || this.#by === 'released';
  }

  /** Runs the handler; resolves when the task is finished, or no longer this worker's. Never rejects. */
  async execute(): Promise<void> {
    const { lease } = this.claimed;
    const reporter = new Reporter(this.#store, lease, this.#clock, this.#logger);
    const timeout = this.#armTimeout();
    try {
      // A first lease cannot have left anything behind.
      const history = lease.fence === 1 ? EMPTY_HISTORY : await this.#store.history(lease.taskId);
      const context = new RunContext(this.claimed, history, this.#store, reporter, this);
      const end = await Promise.race([this.#callHandler(context), this.#interrupted]);
      await this.#conclude(end, reporter);
    } catch (error) {
      // Nothing was concluded: the lease runs out and recovery decides, as if this process had died.
      this.#logger.error({ task: shortId(lease.taskId), tool: this.#definition.name, error }, 'a run broke off');
    } finally {
      timeout?.cancel();
      this.#hold?.cancel();
    }
  }

  /** Something about the task changed, here or elsewhere. */
  async notice(pulse: TaskPulse | undefined): Promise<void> {
    const { lease } = this.claimed;
    if (pulse?.status === 'cancelled') this.#interrupt('cancelled');
    else if (pulse?.fence !== lease.fence || pulse.status === 'completed' || pulse.status === 'failed') {
      this.#interrupt('lost');
    } else await this.#deliverAnswers();
  }

  /** A write was refused: finds out whether the task ended or went elsewhere, and stops accordingly. */
  async lost(): Promise<void> {
    const [pulse] = await this.#store.pulses([this.claimed.lease.taskId]);
    await this.notice(pulse);
    this.#interrupt('lost');
  }

  /** Gives the task back so that another worker, or a later run, goes on with it. */
  release(): void {
    this.#interrupt('released');
  }

  busy(delta: 1 | -1): void {
    this.#busy += delta;
  }

  async answerTo(key: string): Promise<Answer> {
    const answer = new Promise<Answer>((resolve) => this.#waiting.set(key, resolve));
    this.#holdThenPark();
    await this.#deliverAnswers(); // It may have come between the question and now.
    return answer;
  }

  async #deliverAnswers(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { questions } = await this.#store.history(this.claimed.lease.taskId);
    for (const { key, answer } of questions) {
      const resolve = answer === undefined ? undefined : this.#waiting.get(key);
      if (resolve === undefined || answer === undefined) continue;
      this.#waiting.delete(key);
      resolve(answer);
    }
    if (this.#waiting.size === 0) {
      this.#hold?.cancel();
      this.#hold = undefined;
    }
  }

  /** Most answers come at once or much later: wait a little in memory, then cost nothing. */
  #holdThenPark(): void {
    if (this.#definition.onWorkerLost === 'fail') return; // May not run again, so it must stay.
    this.#hold?.cancel();
    this.#hold = this.#clock.setTimer(this.#settings.holdInputMs, () => {
      this.#hold = undefined;
      if (this.#waiting.size === 0) return;
      if (this.#busy > 0) this.#holdThenPark();
      else this.#interrupt('parked');
    });
  }

  #armTimeout(): Timer | undefined {
    const { timeoutMs, activeMs } = this.claimed;
    if (timeoutMs === undefined) return undefined;
    return this.#clock.setTimer(Math.max(0, timeoutMs - activeMs), () => this.#interrupt('timed_out'));
  }

  async #callHandler(context: RunContext): Promise<HandlerEnd> {
    try {
      const result = await this.#definition.run(this.claimed.input, context);
      return { by: 'handler', outcome: completed(result, this.#definition.name, this.#settings.maxResultBytes) };
    } catch (error) {
      return { by: 'handler', outcome: thrown(error) };
    }
  }

  async #conclude(end: HandlerEnd, reporter: Reporter): Promise<void> {
    const { lease } = this.claimed;
    switch (end.by) {
      case 'handler':
        await reporter.close();
        this.#by ??= 'lost'; // Whatever the handler left running cannot touch the task any more.
        return this.#finish(end.outcome);
      case 'timed_out':
        await reporter.close();
        return this.#finish(internalError(this.#reason('timed_out').message));
      case 'cancelled':
      case 'lost':
        return; // Decided elsewhere; there is nothing left to write.
      case 'parked':
        await reporter.close();
        await this.#store.release(lease, { to: 'parked' });
        return;
      case 'released':
        await reporter.close();
        await this.#store.release(lease, { to: 'ready', availableAt: this.#clock.now() });
        return;
    }
  }

  /** What the handler's signal says about the end of its run. */
  #reason(by: Interruption): Error {
    switch (by) {
      case 'cancelled':
        return new TaskCancelledError();
      case 'timed_out':
        return new TaskTimedOutError(this.claimed.timeoutMs ?? 0);
      case 'lost':
        return new TaskInterruptedError('another worker has the task now');
      case 'parked':
        return new TaskInterruptedError('the task waits for an answer and goes on later');
      case 'released':
        return new TaskInterruptedError('this worker stops; the task goes on elsewhere');
    }
  }

  /** Writes the outcome, again and again while the store is unavailable: the work is done and must not be lost. */
  async #finish(outcome: TerminalState): Promise<void> {
    const { lease } = this.claimed;
    for (;;) {
      try {
        const applied = await this.#store.finish(lease, outcome);
        if (applied === 'applied') return;
        this.#logger.debug({ task: shortId(lease.taskId), outcome: outcome.status }, 'a late outcome was dropped');
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        this.#logger.error({ task: shortId(lease.taskId), error }, 'an outcome could not be written; trying again');
        await new Promise<void>((resolve) => this.#clock.setTimer(FINISH_RETRY_MS, resolve));
      }
    }
  }
}
