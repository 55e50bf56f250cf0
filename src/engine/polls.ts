import { type Clock, type Principal, principalKey, RateLimitedError, type TaskId } from '../core/index.ts';

/** What one requestor may ask for, and how fast. */
export interface PollSettings {
  /** Polls of one task per second that are answered at once, after a first burst of twice as many. */
  maxPollsPerSecond: number;
  /** Polls of one principal that wait for their turn; one more is refused. */
  maxWaitingPolls: number;
}

/** Beyond this many, what has refilled is forgotten: a full bucket says nothing. */
const MAX_BUCKETS = 10_000;

interface Bucket {
  tokens: number;
  /** On the monotonic clock. */
  at: number;
}

/**
 * Polls that come faster than anybody needs are answered, but not at once: when their turn comes, or as soon as the task
 * changes. Only who keeps a great many of them waiting is refused.
 * @see ext-tasks 2026-07-28, "Task Polling": a receiver may limit the rate of polling
 */
export class Polls {
  readonly #clock: Clock;
  readonly #settings: PollSettings;
  readonly #buckets = new Map<string, Bucket>();
  readonly #waiting = new Map<string, number>();

  constructor(clock: Clock, settings: PollSettings) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Tasks whose pollers are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Resolves when the poll may be answered.
   * @param watch calls back when the task changes; returns the function that ends the watch
   * @throws {RateLimitedError} when too many polls of the principal wait already.
   */
  async admit(
    taskId: TaskId,
    principal: Principal,
    watch: (listener: () => void) => () => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const owner = principalKey(principal);
    const delayMs = this.#take(`${owner}|${taskId}`);
    if (delayMs === 0) return;
    const waiting = this.#waiting.get(owner) ?? 0;
    if (waiting >= this.#settings.maxWaitingPolls) throw new RateLimitedError(Math.ceil(delayMs));
    this.#waiting.set(owner, waiting + 1);
    try {
      await this.#turn(delayMs, watch, signal);
    } finally {
      const left = (this.#waiting.get(owner) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(owner);
      else this.#waiting.set(owner, left);
    }
  }

  /** Milliseconds until the poll's turn; the bucket may go into debt, so that each of many waits its own. */
  #take(key: string): number {
    const { maxPollsPerSecond } = this.#settings;
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(key) ?? { tokens: maxPollsPerSecond * 2, at: now };
    bucket.tokens = this.#refilled(bucket, now) - 1;
    bucket.at = now;
    this.#buckets.delete(key); // To the end: the first are those longest unused.
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > MAX_BUCKETS) this.#forget(now);
    return bucket.tokens >= 0 ? 0 : (-bucket.tokens / maxPollsPerSecond) * 1_000;
  }

  #refilled({ tokens, at }: Bucket, now: number): number {
    const { maxPollsPerSecond } = this.#settings;
    return Math.min(maxPollsPerSecond * 2, tokens + ((now - at) / 1_000) * maxPollsPerSecond);
  }

  /** What has refilled, and of the rest the half longest unused: their owners get another burst, which costs little. */
  #forget(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#refilled(bucket, now) >= this.#settings.maxPollsPerSecond * 2) this.#buckets.delete(key);
    }
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_BUCKETS / 2) return;
      this.#buckets.delete(key);
    }
  }

  #turn(delayMs: number, watch: (listener: () => void) => () => void, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        unwatch();
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.#clock.setTimer(delayMs, done);
      const unwatch = watch(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}
