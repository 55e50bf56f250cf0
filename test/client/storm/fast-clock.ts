import { type Clock, systemClock, type Timer } from '../../../src/core/index.ts';

/** The machine's clock, running faster: sockets stay as slow as they are, waits get short. */
export class FastClock implements Clock {
  readonly #factor: number;
  readonly #wallStart = systemClock.now();
  readonly #start = systemClock.monotonic();

  constructor(factor: number) {
    this.#factor = factor;
  }

  now(): number {
    return this.#wallStart + Math.floor(this.monotonic());
  }

  monotonic(): number {
    return (systemClock.monotonic() - this.#start) * this.#factor;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return systemClock.setTimer(delayMs / this.#factor, callback);
  }
}
