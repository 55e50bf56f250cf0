import type { Clock } from '../../core/index.ts';

/** Resolves when `what` does, or after `ms`, whichever is first. */
export async function within(ms: number, clock: Clock, what: Promise<unknown>): Promise<void> {
  let late: () => void = () => {};
  const timer = clock.setTimer(ms, () => late());
  await Promise.race([what, new Promise<void>((resolve) => (late = resolve))]);
  timer.cancel();
}
