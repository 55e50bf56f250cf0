import type { ManualClock } from '../../src/testing/index.ts';

/** Lets everything happen that is ready to; ends early once `enough`. */
export async function turns(count: number, enough = (): boolean => false): Promise<void> {
  for (let turn = 0; turn < count && !enough(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The same for what comes over sockets of this machine, which takes its time; `false`: it has not come. */
export async function realTime(ms: number, enough = (): boolean => false): Promise<boolean> {
  const until = performance.now() + ms;
  while (!enough() && performance.now() < until) await turns(5, enough);
  return enough();
}

/** Lets time pass in pieces, as it does for a living process; ends early once `enough`. */
export async function passing(clock: ManualClock, ms: number, enough = (): boolean => false): Promise<void> {
  await turns(20, enough); // What has been begun gets as far as it can in no time.
  for (let left = ms; left > 0 && !enough(); ) {
    const piece = Math.min(left, left > 60_000 ? 15_000 : 2_000);
    clock.advance(piece);
    left -= piece;
    await turns(6, enough);
  }
}
