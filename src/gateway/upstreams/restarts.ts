import { type Clock, type RandomSource, type RetryPolicy, retryDelayMs } from '../../core/index.ts';

/** So many deaths in a row are a crash loop. */
const LOOP = 3;

export interface RestartRules {
  clock: Clock;
  random: RandomSource;
  /** Doubled after each death in a row. */
  backoff: RetryPolicy;
  /** A life that lasted so long, in milliseconds, was a good one: what went before it is forgotten. */
  healthyAfterMs: number;
}

/** When a process that died may be started again. Ends that were asked for are no deaths. */
export class Restarts {
  readonly #rules: RestartRules;
  #startedAt: number | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #inARow = 0;
  #starts = 0;
  #deaths = 0;

  constructor(rules: RestartRules) {
    this.#rules = rules;
  }

  get starts(): number {
    return this.#starts;
  }

  get deaths(): number {
    return this.#deaths;
  }

  /** Whether it dies again and again. */
  get looping(): boolean {
    return this.deathsInARow >= LOOP;
  }

  get deathsInARow(): number {
    return this.#livedMs >= this.#rules.healthyAfterMs ? 0 : this.#inARow;
  }

  /** Milliseconds until it may be started. */
  get waitMs(): number {
    return Math.max(0, Math.ceil(this.#notBefore - this.#rules.clock.monotonic()));
  }

  started(): void {
    this.#starts += 1;
    this.#startedAt = this.#rules.clock.monotonic();
  }

  /** It was ended. */
  ended(): void {
    if (this.#livedMs >= this.#rules.healthyAfterMs) this.#inARow = 0;
    this.#startedAt = undefined;
  }

  /** It ended by itself, or could not be started. */
  died(): void {
    const { clock, random, backoff } = this.#rules;
    this.ended();
    this.#deaths += 1;
    this.#inARow += 1;
    const made = { made: this.#inARow, max: Number.POSITIVE_INFINITY };
    this.#notBefore = clock.monotonic() + (retryDelayMs(undefined, made, backoff, random) ?? 0);
  }

  get #livedMs(): number {
    return this.#startedAt === undefined ? 0 : this.#rules.clock.monotonic() - this.#startedAt;
  }
}
