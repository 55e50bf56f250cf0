import type { Clock, Timer } from '../core/index.ts';

/**
 * How long a handler has worked. Waiting for an answer or for a time is not work, so the meter stops meanwhile; when the
 * limit is reached, it says so once.
 */
export class ActiveTime {
  readonly #clock: Clock;
  readonly #limitMs: number | undefined;
  readonly #onLimit: () => void;
  /** What this run has used up to the last stop. */
  #usedMs = 0;
  #since: number | undefined;
  #timer: Timer | undefined;

  /** @param limitMs active time this run may use; undefined: no limit */
  constructor(clock: Clock, limitMs: number | undefined, onLimit: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onLimit = onLimit;
  }

  start(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#clock.monotonic();
    if (this.#limitMs === undefined) return;
    this.#timer = this.#clock.setTimer(Math.max(0, this.#limitMs - this.#usedMs), this.#onLimit);
  }

  stop(): void {
    if (this.#since === undefined) return;
    this.#usedMs += this.#clock.monotonic() - this.#since;
    this.#since = undefined;
    this.#timer?.cancel();
  }

  /** Whole milliseconds worked in this run. */
  get elapsedMs(): number {
    const running = this.#since === undefined ? 0 : this.#clock.monotonic() - this.#since;
    return Math.round(this.#usedMs + running);
  }
}
