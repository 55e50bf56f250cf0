import type { Clock } from '../core/index.ts';
import type { Journal } from './journal/journal.ts';

/** How often a process says that it lives. */
export const BEAT_MS = 10_000;
/** Whoever has not said so for this long holds nothing any more, by the clock of whoever watches. */
const LEASE_MS = 30_000;

/**
 * Finds processes on the same journal that died, and frees what they held. The dead are known at once by their lock, where
 * locks work; one that lives and stands still gets as long as a lease. Nobody's wall clock is trusted: a beat counts as
 * standing still when it was seen to, by the monotonic clock of whoever looks.
 */
export class OtherProcesses {
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #seen = new Map<string, { beat: number; since: number }>();

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** How many calls became nobody's. */
  async look(): Promise<number> {
    const others = await this.#journal.others();
    for (const owner of this.#seen.keys()) {
      if (!others.some((other) => other.owner === owner)) this.#seen.delete(owner);
    }
    let freed = 0;
    for (const { owner, beat, life } of others) {
      if (life !== 'dead' && this.#beats(owner, beat)) continue;
      freed += await this.#journal.bury(owner);
      this.#seen.delete(owner);
    }
    return freed;
  }

  #beats(owner: string, beat: number): boolean {
    const now = this.#clock.monotonic();
    const seen = this.#seen.get(owner);
    if (seen?.beat === beat) return now - seen.since < LEASE_MS;
    this.#seen.set(owner, { beat, since: now });
    return true;
  }
}
