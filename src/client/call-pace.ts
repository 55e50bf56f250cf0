import { type Clock, type RandomSource, retryReadDelayMs, type Timer } from '../core/index.ts';

/** When a call may be taken up again, and what wakes whoever follows it before that. By the monotonic clock. */
export class CallPace {
  readonly #clock: Clock;
  readonly #random: RandomSource;
  #notBefore: number;
  #failures = 0;
  #wake: (() => void) | undefined;

  constructor({ clock, random }: { clock: Clock; random: RandomSource }) {
    this.#clock = clock;
    this.#random = random;
    this.#notBefore = clock.monotonic();
  }

  /** How long nothing is to be asked, in milliseconds; 0 or less: now. */
  get leftMs(): number {
    return this.#notBefore - this.#clock.monotonic();
  }

  /** Nothing is asked for so long from now on; less than 0: it might have been asked before. */
  after(ms: number): void {
    this.#notBefore = this.#clock.monotonic() + ms;
  }

  /** What is to be done is not asking: it need not wait. */
  atOnce(): void {
    this.#notBefore = Math.min(this.#notBefore, this.#clock.monotonic());
  }

  /** Another failure in a row; how long to wait after it, in milliseconds. */
  failed(retryAfterMs: number | undefined): number {
    this.#failures += 1;
    return retryReadDelayMs(this.#failures, retryAfterMs, this.#random);
  }

  succeeded(): void {
    this.#failures = 0;
  }

  /** Something happened: whoever pauses looks again. */
  wake(): void {
    this.#wake?.();
  }

  /** Until the time is up, or something happened. @param ms absent: only until something happened */
  pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer: Timer | undefined = ms === undefined ? undefined : this.#clock.setTimer(ms, () => this.#wake?.());
      this.#wake = () => {
        this.#wake = undefined;
        timer?.cancel();
        resolve();
      };
    });
  }
}
