import {
  type Answer,
  type Clock,
  type Logger,
  type RandomSource,
  recoveryDecision,
  retryDelayMs,
  StoreSealedError,
  shortId,
  TaskCancelledError,
  TaskError,
  type TaskId,
  TaskInterruptedError,
  TaskTimedOutError,
  type TerminalState,
} from '../core/index.ts';
import type { ClaimedTask, History, Release, TaskPulse, TaskStore } from '../store/index.ts';
import { ActiveTime } from './active-time.ts';
import type { Definition } from './definition.ts';
import type { JobKeeper } from './jobs/keeper.ts';
import { completed, INTERNAL_ERROR, internalError, thrown, withHistory } from './outcome.ts';
import { persistently } from './persistently.ts';
import { Records } from './records.ts';
import { Reporter } from './reporter.ts';
import { quoted, RunContext, type RunControl } from './run-context.ts';
import { Waits } from './waits.ts';

export interface RunSettings {
  /** How long an unanswered question keeps its handler in memory. */
  holdInputMs: number;
  maxResultBytes: number;
  /** Steps, sleeps included, that one task may record. */
  maxStepsPerTask: number;
  /** What is kept of a task's log. */
  maxLogBytes: number;
  /** How long a handler that was told to stop may take before it counts as leaked. */
  stopGraceMs: number;
  /** Ends the run after everything it records, to show what a handler does outside its steps. For tests. */
  interruptRuns: boolean;
}

/** Why a run ends before its handler does. */
type Interruption = 'cancelled' | 'lost' | 'parked' | 'released' | 'timed_out' | 'changed';

type RunEnd = { by: 'handler'; outcome: TerminalState; error?: unknown } | { by: Interruption };

/** How soon a task that cannot be read here is tried again. */
const LEAVE_TO_OTHERS_MS = 10_000;
const EMPTY_HISTORY: History = { steps: [], questions: [] };

/** One run of a handler under one lease. */
export class Run implements RunControl {
  readonly claimed: ClaimedTask;
  /** When the lease was last known to hold, on the monotonic clock. */
  renewedAt: number;
  readonly #definition: Definition;
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #logger: Logger;
  readonly #settings: RunSettings;
  readonly jobs: JobKeeper;
  readonly #logged: (taskId: TaskId) => void;
  readonly #controller = new AbortController();
  readonly #active: ActiveTime;
  readonly #waits: Waits;
  readonly #interrupted: Promise<RunEnd>;
  /** Resolves when nothing of this run is left to be written, though its handler may still be on the way out. */
  readonly concluded: Promise<void>;
  #setConcluded: () => void = () => {};
  #isConcluded = false;
  #records = new Records(EMPTY_HISTORY);
  #interrupt: (by: Interruption) => void = () => {};
  #by: Interruption | 'finished' | undefined;
  #parkedFor: { wakeAt?: number; questions: string[] } = { questions: [] };
  #change: string | undefined;

  constructor(
    claimed: ClaimedTask,
    definition: Definition,
    parts: {
      store: TaskStore;
      clock: Clock;
      random: RandomSource;
      logger: Logger;
      settings: RunSettings;
      jobs: JobKeeper;
      logged: (taskId: TaskId) => void;
    },
  ) {
    this.claimed = claimed;
    this.#definition = definition;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#logger = parts.logger;
    this.#settings = parts.settings;
    this.jobs = parts.jobs;
    this.#logged = parts.logged;
    this.renewedAt = parts.clock.monotonic();
    const { timeoutMs, activeMs } = claimed;
    const leftMs = timeoutMs === undefined ? undefined : Math.max(0, timeoutMs - activeMs);
    this.#active = new ActiveTime(parts.clock, leftMs, () => this.#interrupt('timed_out'));
    this.#waits = new Waits({
      clock: parts.clock,
      holdMs: parts.settings.holdInputMs,
      mayPark: () => mayRunAgain(definition), // If not, it must stay.
      park: (wakeAt) => {
        this.#parkedFor = { ...(wakeAt !== undefined && { wakeAt }), questions: this.#waits.questions };
        this.#interrupt('parked');
      },
      idle: (idle) => (idle ? this.#active.stop() : this.#active.start()),
      expire: (key) => void this.#expire(key),
    });
    this.concluded = new Promise((resolve) => {
      this.#setConcluded = () => {
        this.#isConcluded = true;
        resolve();
      };
    });
    this.#interrupted = new Promise((resolve) => {
      this.#interrupt = (by) => {
        if (this.#by !== undefined) return;
        this.#by = by;
        const reason = this.#reason(by);
        this.#controller.abort(reason);
        if (!this.over) this.#waits.fail(reason);
        resolve({ by });
      };
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Its lease is worth renewing: somebody works under it, or writes what came of it. */
  get holdsLease(): boolean {
    return this.#by !== 'lost' && !this.#isConcluded;
  }

  /** Its end is decided, though its handler may still be on the way out. */
  get ended(): boolean {
    return this.#by !== undefined;
  }

  get over(): boolean {
    return this.#by !== undefined && this.#by !== 'cancelled' && this.#by !== 'timed_out';
  }

  get #isHeld(): boolean {
    return this.#definition.onWorkerLost === 'held';
  }

  get random(): RandomSource {
    return this.#random;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Runs the handler; resolves when its slot is free again. Never rejects. */
  async execute(): Promise<void> {
    const { lease } = this.claimed;
    const reporter = new Reporter(lease, {
      store: this.#store,
      clock: this.#clock,
      logger: this.#logger,
      maxLogBytes: this.#settings.maxLogBytes,
      logged: () => this.#logged(lease.taskId),
    });
    try {
      // A first lease cannot have left anything behind.
      if (lease.fence > 1) this.#records = new Records(await this.#store.history(lease.taskId));
      await this.#checkVersion();
      this.#active.start();
      const handler = this.#callHandler(
        new RunContext(this.claimed, this.#records, this.#store, reporter, this, this.#settings),
      );
      const end = await Promise.race([this.#interrupted, handler]);
      this.#active.stop();
      await this.#conclude(end, reporter);
      this.#setConcluded();
      if (end.by === 'cancelled' || end.by === 'timed_out' || end.by === 'lost') await this.#seeOut(handler);
    } catch (error) {
      // Nothing was concluded: the lease runs out and recovery decides, as if this process had died.
      this.#logger.error({ task: shortId(lease.taskId), tool: this.#definition.name, error }, 'a run broke off');
      if (error instanceof StoreSealedError && mayRunAgain(this.#definition)) await this.#leaveToOthers();
    } finally {
      this.#setConcluded();
      this.#active.stop();
      this.#waits.stop();
    }
  }

  /** Its records cannot be read here. Others may have the key, and no attempt is spent on finding out. */
  async #leaveToOthers(): Promise<void> {
    const availableAt = this.#clock.now() + LEAVE_TO_OTHERS_MS;
    try {
      await this.#release({ to: 'ready', availableAt });
    } catch (error) {
      this.#logger.error(
        { task: shortId(this.claimed.lease.taskId), error },
        'a task could not be handed back; its lease runs out',
      );
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

  async lost(): Promise<void> {
    const [pulse] = await this.#store.pulses([this.claimed.lease.taskId]);
    await this.notice(pulse);
    this.#interrupt('lost');
  }

  /** The lease could not be renewed in time: stops before somebody else may begin. */
  leaseRanOut(): void {
    this.#interrupt('lost');
  }

  get handsOver(): boolean {
    return this.#definition.handsOver === true;
  }

  /** Gives the task back so that another worker, or a later run, goes on with it. */
  release(): void {
    this.#interrupt('released');
  }

  recorded(): void {
    if (this.#settings.interruptRuns && mayRunAgain(this.#definition)) this.#interrupt('released');
  }

  busy(delta: 1 | -1): void {
    this.#waits.busy(delta);
  }

  async answerTo(key: string, deadline: number | undefined): Promise<Answer> {
    const answer = this.#waits.forAnswer(key, deadline);
    answer.catch(() => {}); // The task may end before anybody gets to wait; whoever waits still hears of it.
    await this.#deliverAnswers(); // It may have come between the question and now.
    return answer;
  }

  sleepUntil(key: string, until: number): Promise<void> {
    return this.#waits.forTime(key, until);
  }

  async withdraw(key: string): Promise<void> {
    await this.persistently(() => this.#store.withdrawQuestion(this.claimed.lease, key));
    await this.#deliverAnswers();
  }

  wake(key: string): void {
    this.#waits.woken(key);
  }

  async changed(how: string): Promise<void> {
    const { taskId } = this.claimed.lease;
    const text = `the handler of ${this.#definition.name} changed under a running task: ${how}`;
    if (this.#change === undefined) {
      const fields = { task: shortId(taskId), tool: this.#definition.name };
      // Which steps it is about is in the timeline: authors make their names of arguments.
      this.#logger.warn(fields, 'a handler changed under a running task; the timeline of the task says how');
      await this.#store.note(this.claimed.lease, 'handler_changed', { how });
    }
    this.#change ??= text;
    if (this.#definition.strict) this.#interrupt('changed');
  }

  async #checkVersion(): Promise<void> {
    const { toolVersion } = this.claimed;
    const { version } = this.#definition;
    if (!this.#records.any || toolVersion === version) return;
    await this.changed(`it was version ${toolVersion ?? '(none)'} and is version ${version ?? '(none)'}`);
  }

  async #deliverAnswers(): Promise<void> {
    const waiting = new Set(this.#waits.questions);
    if (waiting.size === 0) return;
    const { questions } = await this.#store.history(this.claimed.lease.taskId);
    for (const { key, answer } of questions) {
      if (answer !== undefined && waiting.has(key)) this.#waits.answered(key, answer);
    }
  }

  async #expire(key: string): Promise<void> {
    try {
      await this.#store.expireQuestion(this.claimed.lease, key);
      await this.#deliverAnswers();
    } catch (error) {
      this.#logger.error({ task: shortId(this.claimed.lease.taskId), error }, 'a question could not be closed');
    }
  }

  async #callHandler(context: RunContext): Promise<RunEnd> {
    try {
      const result = await this.#definition.run(this.claimed.input, context);
      const { unasked } = this.#records;
      if (unasked.length > 0 && !this.over) await this.changed(`it ended without asking for ${quoted(unasked)}`);
      return { by: 'handler', outcome: completed(result, this.#definition.name, this.#settings.maxResultBytes) };
    } catch (error) {
      // The store's own trouble is not the tool's: the run breaks off, and recovery decides.
      if (error instanceof TaskError && error.code.startsWith('STORE_')) throw error;
      const outcome = thrown(error);
      // What nobody chose to throw is the operator's to see: the wire carries a message at most, and never the stack.
      if (outcome.status === 'failed' && outcome.error.code === INTERNAL_ERROR && !this.signal.aborted) {
        this.#logger.error(
          { task: shortId(this.claimed.lease.taskId), tool: this.#definition.name, error },
          'a tool failed',
        );
      }
      return { by: 'handler', outcome, error };
    }
  }

  async #conclude(end: RunEnd, reporter: Reporter): Promise<void> {
    switch (end.by) {
      case 'handler':
        this.#by ??= 'finished'; // Whatever the handler left running cannot touch the task any more.
        await reporter.close();
        return this.#afterHandler(end.outcome, end.error);
      case 'timed_out':
        await reporter.close();
        return this.#finish(internalError(this.#reason('timed_out').message));
      case 'changed':
        await reporter.close();
        return this.#finish(internalError(this.#change ?? 'the handler changed'));
      case 'cancelled':
      case 'lost':
        return; // Decided elsewhere; there is nothing left to write.
      case 'parked':
        await reporter.close();
        return this.#release({ to: 'parked', ...this.#parkedFor });
      case 'released':
        await reporter.close();
        await this.#records.written(); // What is on its way decides whether the handler may run again.
        return this.#handOver();
    }
  }

  /** What a handler that returned or threw leads to: an end, or another attempt later. */
  async #afterHandler(outcome: TerminalState, error: unknown): Promise<void> {
    const { lease, task } = this.claimed;
    if (outcome.status !== 'failed') return this.#finish(outcome);
    const attempts = { made: lease.attempt, max: this.#definition.maxAttempts };
    const delayMs = retryDelayMs(error, attempts, this.#definition.retry, this.#random);
    if (delayMs !== undefined) {
      const fields = { task: shortId(task.taskId), tool: task.name, attempt: lease.attempt, delayMs };
      this.#logger.info(fields, 'an attempt failed and is tried again');
      const availableAt = this.#clock.now() + delayMs;
      return this.#release({ to: 'retry', availableAt, error: outcome.error.message });
    }
    if (lease.attempt === 1) return this.#finish(outcome);
    const past = await this.#store.pastAttempts(lease.taskId);
    return this.#finish(withHistory(outcome, past, { endedAt: this.#clock.now(), outcome: 'failed' }));
  }

  /** Another worker goes on, unless the handler may not run twice: then its end is told, not hidden. */
  #handOver(): Promise<void> {
    const { lease } = this.claimed;
    const decision = recoveryDecision({
      rule: this.#definition.onWorkerLost,
      attempt: 0, // Handing over spends no attempt, so it cannot run out of them.
      maxAttempts: 1,
      hasRecords: this.#records.any,
      lost: 'stopped',
    });
    if (decision.action === 'run_again') return this.#release({ to: 'ready' });
    this.#logger.warn({ task: shortId(lease.taskId), tool: this.#definition.name }, decision.message);
    return this.#finish(internalError(decision.message));
  }

  /** Waits for a handler that was told to stop, for a while; its slot stays taken as long as it really runs. */
  async #seeOut(handler: Promise<unknown>): Promise<void> {
    const { stopGraceMs } = this.#settings;
    const late = new Promise<'late'>((resolve) => {
      if (stopGraceMs === 0) resolve('late');
      else this.#clock.setTimer(stopGraceMs, () => resolve('late'));
    });
    if ((await Promise.race([handler, late])) !== 'late') return;
    const fields = { task: shortId(this.claimed.lease.taskId), tool: this.#definition.name };
    this.#logger.warn(
      fields,
      'a handler ignores its signal and is left running; its task is over and its slot is free',
    );
  }

  /** What the handler's signal says about the end of its run. */
  #reason(by: Interruption): Error {
    switch (by) {
      case 'cancelled':
        return new TaskCancelledError();
      case 'timed_out':
        return new TaskTimedOutError(this.claimed.timeoutMs ?? 0);
      case 'lost':
        return new TaskInterruptedError(
          this.#isHeld ? 'the task is over, or taken from this process' : 'another worker has the task now',
        );
      case 'parked':
        return new TaskInterruptedError('the task waits and goes on later');
      case 'released':
        return new TaskInterruptedError(
          this.#isHeld ? 'this process stops, and the task with it' : 'this worker stops; the task goes on elsewhere',
        );
      case 'changed':
        return new TaskInterruptedError('the handler changed and is strict about it');
    }
  }

  async #release(how: Release): Promise<void> {
    await this.persistently(() => this.#store.release(this.claimed.lease, how, this.#active.elapsedMs));
  }

  async #finish(outcome: TerminalState): Promise<void> {
    const applied = await this.persistently(() => this.#store.finish(this.claimed.lease, outcome));
    const { taskId, name, principal } = this.claimed.task;
    const fields = { task: shortId(taskId), tool: name, owner: principal.subject, outcome: outcome.status };
    if (applied === 'applied') this.#logger.info(fields, 'a task is over');
    else this.#logger.debug(fields, 'a late outcome was dropped');
  }

  /** Writes until it is written, or the run is lost and must not write any more; one that ended must. */
  persistently<Result>(write: () => Promise<Result>): Promise<Result> {
    return persistently(write, {
      clock: this.#clock,
      logger: this.#logger,
      fields: { task: shortId(this.claimed.lease.taskId) },
      givenUp: () => this.#by === 'lost',
    });
  }
}

function mayRunAgain({ onWorkerLost }: Definition): boolean {
  return onWorkerLost !== 'fail' && onWorkerLost !== 'held';
}
