import { type Clock, DEFAULTS, type Logger, recoveryDecision, shortId, type Timer, untilNext } from '../core/index.ts';
import type { LostLease, TaskStore } from '../store/index.ts';
import { internalError, withHistory } from './outcome.ts';

const BATCH = 200;
/** How soon the next round comes where one could not do all there was: others get their turn in between. */
const CATCH_UP_MS = 50;

/**
 * What has to happen though nobody asks: tasks of dead workers are taken from them, tasks past their TTL end, and
 * what is past its keeping is deleted. Any number of processes may do this at once; each change is a compare-and-set.
 */
export class Maintenance {
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #everyMs: number;
  readonly #graceMs: number;
  readonly #wake: () => void;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stopped = false;
  /** The last round left something over. Tasks may expire faster than one batch a round for as long as they like. */
  #behind = false;
  /** Leases of living workers that ran out, and since when we have seen so, on the monotonic clock. */
  #overdue = new Map<string, number>();

  constructor(parts: {
    store: TaskStore;
    clock: Clock;
    logger: Logger;
    everyMs: number;
    /** How long a living worker may be late with a renewal. */
    graceMs: number;
    wake: () => void;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#everyMs = parts.everyMs;
    this.#graceMs = parts.graceMs;
    this.#wake = parts.wake;
  }

  start(): void {
    if (this.#stopped) return;
    const delayMs = this.#behind ? Math.min(CATCH_UP_MS, this.#everyMs) : untilNext(this.#everyMs, this.#clock);
    this.#timer = this.#clock.setTimer(delayMs, () => void this.run().then(() => this.start()));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await (this.#next ?? this.#running);
  }

  /** A round that begins after this call; callers that come while one is under way share the next. */
  run(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#round().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.run();
    });
    return this.#next;
  }

  async #round(): Promise<void> {
    try {
      await this.#recoverAll(await this.#store.lostLeases(BATCH));
      const expired = internalError('expired before completion: the task outlived its TTL');
      const swept = await this.#store.sweep(BATCH, expired, DEFAULTS.expiredGraceMs);
      this.#behind = swept.deleted >= BATCH || swept.expired.length >= BATCH;
    } catch (error) {
      this.#behind = false; // Trouble is not made better by haste.
      this.#logger.error({ error }, 'a sweep of the task store failed; trying again');
    }
    this.#wake(); // Whatever a lost wake-up left lying is found here.
  }

  async #recoverAll(lost: readonly LostLease[]): Promise<void> {
    const now = this.#clock.monotonic();
    const overdue = new Map<string, number>();
    for (const lease of lost) {
      if (lease.worker !== 'alive') {
        await this.#recover(lease);
        continue;
      }
      // Alive but late: its event loop is blocked, or time jumped for all of us. It gets as long again as we watch.
      const key = `${lease.taskId} ${lease.fence}`;
      const since = this.#overdue.get(key) ?? now;
      if (now - since >= this.#graceMs) await this.#recover(lease);
      else overdue.set(key, since);
    }
    this.#overdue = overdue;
  }

  async #recover(lost: LostLease): Promise<void> {
    const decision = recoveryDecision(lost);
    const fields = { task: shortId(lost.taskId), attempt: lost.attempt, worker: lost.workerId };
    if (decision.action === 'run_again') {
      const applied = await this.#store.recover(lost, decision);
      if (applied === 'applied') this.#logger.info(fields, 'a worker was lost; its task runs again');
      return;
    }
    const past = await this.#store.pastAttempts(lost.taskId);
    const ended = { endedAt: this.#clock.now(), outcome: 'lost' };
    const outcome = withHistory(internalError(decision.message), past, ended);
    const applied = await this.#store.recover(lost, { action: 'fail', outcome });
    if (applied === 'applied') this.#logger.warn(fields, 'a worker was lost; its task is not run again');
  }
}
