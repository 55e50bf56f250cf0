import { type Clock, type Principal, principalKey, Recent } from '../core/index.ts';

/** Nobody who keeps the ids he was given asks for so many tasks that are not there. */
const MANY = 20;
const WITHIN_MS = 60_000;
/** Beyond this many principals the longest silent is forgotten. */
const MAX_PRINCIPALS = 1_000;

/** Counts who asks for tasks that are not there: a client that lost its notes, or one that guesses. */
export class Probes {
  readonly #clock: Clock;
  readonly #byOwner = new Recent<string, { since: number; count: number }>(MAX_PRINCIPALS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns how many it was within the last minute, once that is too many to be an accident; undefined before, and after */
  note(principal: Principal): number | undefined {
    const owner = principalKey(principal);
    const now = this.#clock.monotonic();
    const known = this.#byOwner.get(owner);
    const seen = known !== undefined && now - known.since < WITHIN_MS ? known : { since: now, count: 0 };
    seen.count += 1;
    this.#byOwner.set(owner, seen);
    return seen.count === MANY ? seen.count : undefined;
  }
}
