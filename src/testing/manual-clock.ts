import type { Clock, Timer } from '../core/index.ts';

interface Pending {
  dueAt: number;
  order: number;
  callback: () => void;
}

/** A clock that stands still until it is moved. Timers fire in order of their time, each at its own moment. */
export class ManualClock implements Clock {
  #elapsed = 0;
  #wallOffset: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  /** @param startAt wall time to begin with, in milliseconds since the Unix epoch */
  constructor(startAt: number = Date.UTC(2026, 0, 1)) {
    this.#wallOffset = startAt;
  }

  now(): number {
    return this.#wallOffset + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const pending = { dueAt: this.#elapsed + Math.max(0, delayMs), order: this.#order, callback };
    this.#order += 1;
    this.#pending.add(pending);
    return { cancel: () => this.#pending.delete(pending) };
  }

  /** Lets `ms` milliseconds pass, firing what falls due on the way, also timers that timers set. */
  advance(ms: number): void {
    const target = this.#elapsed + ms;
    for (;;) {
      const next = this.#nextDue(target);
      if (next === undefined) break;
      this.#pending.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.dueAt);
      next.callback();
    }
    this.#elapsed = target;
  }

  /** Moves wall time alone, as an administrator or a time server would; durations do not notice. */
  jump(ms: number): void {
    this.#wallOffset += ms;
  }

  /** How many timers are waiting. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  #nextDue(target: number): Pending | undefined {
    let next: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.dueAt > target) continue;
      if (
        next === undefined ||
        pending.dueAt < next.dueAt ||
        (pending.dueAt === next.dueAt && pending.order < next.order)
      ) {
        next = pending;
      }
    }
    return next;
  }
}
