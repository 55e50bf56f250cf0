import type { Clock } from 'longcall';

/** The machine's clock, set forward: what a process sees that is started later. */
export function clockAhead(byMs: number): Clock {
  return {
    now: () => Date.now() + byMs,
    monotonic: () => performance.now(),
    setTimer(delayMs, callback) {
      const timer = setTimeout(callback, delayMs).unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
