/** How much was done in how long. */
export interface Work {
  done: number;
  seconds: number;
}

/**
 * Counts up to `count`, or until `maxMs` have passed: a machine that is busy with something else makes a figure coarser,
 * not the bench endless. May be shared by loops that run at once.
 */
export function* turns(count: number, maxMs: number): Generator<number> {
  const until = performance.now() + maxMs;
  for (let n = 0; n < count && performance.now() < until; n += 1) yield n;
}

/** The rate over all pieces of work together. */
export function perSecond(works: readonly Work[]): number {
  const sum = (what: keyof Work) => works.reduce((total, work) => total + work[what], 0);
  return sum('done') / sum('seconds');
}
