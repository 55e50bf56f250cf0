/** A pending timer. `cancel` after it fired does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time, injected everywhere so that tests move it by hand. `now` is wall time and may jump; durations are measured
 * with `monotonic`, which never does.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary point; only differences mean something. */
  monotonic(): number;
  /** Runs `callback` once, `delayMs` from now at the earliest. Delays beyond 24.8 days are kept, not truncated. */
  setTimer(delayMs: number, callback: () => void): Timer;
}

/** Node truncates longer delays to 1 ms. */
const MAX_NODE_DELAY_MS = 2_147_483_647;

/** The machine's own clock. Its timers never keep a process alive by themselves. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    let handle: NodeJS.Timeout | undefined;
    const arm = (remainingMs: number): void => {
      const delay = Math.min(Math.max(remainingMs, 0), MAX_NODE_DELAY_MS);
      handle = setTimeout(() => (remainingMs > delay ? arm(remainingMs - delay) : callback()), delay);
      handle.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Milliseconds until the next whole multiple of `everyMs` on the monotonic clock. What happens every so often then happens
 * together, which wakes an idle process as seldom as can be. A timer that fired a little early does not fire again at once.
 */
export function untilNext(everyMs: number, clock: Clock): number {
  const leftMs = everyMs - (clock.monotonic() % everyMs);
  return Math.ceil(leftMs < everyMs / 10 ? leftMs + everyMs : leftMs);
}
