import type { JsonObject, JsonValue } from '../../core/index.ts';
import type { OneStart } from './one-start.ts';

/** How far a job is watched. Kept lazily: what is lost of it is found out again. */
interface Kept {
  /** When it was started, or that was tried first, in milliseconds since the Unix epoch. */
  since: number;
  /** Looks in a row that went wrong. */
  failures: number;
  /** Pollers were told of that. */
  said: boolean;
  /** Where its log is read on from. */
  cursor?: string;
  /** Nothing more will come of its log. */
  logRead: boolean;
  /** Keys of questions whose answer it has taken. */
  answered: readonly string[];
}

export class JobState {
  readonly #one: Pick<OneStart<unknown, JsonValue>, 'support' | 'key' | 'name'>;
  #kept: Kept;

  constructor(one: Pick<OneStart<unknown, JsonValue>, 'support' | 'key' | 'name'>) {
    this.#one = one;
    const recorded = one.support.recorded(one.key('state')) as Partial<Kept> | undefined;
    this.#kept = { since: one.support.now(), failures: 0, said: false, logRead: false, answered: [], ...recorded };
  }

  get now(): Readonly<Kept> {
    return this.#kept;
  }

  get ageMs(): number {
    return Math.max(0, this.#one.support.now() - this.#kept.since);
  }

  /** What is not worth a write of its own: it is kept with what comes next. */
  note(news: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...news };
  }

  async keep(news: Partial<Kept>): Promise<void> {
    this.note(news);
    const { support, key, name } = this.#one;
    await support.keep(key('state'), `state of ${name}`, this.#kept as unknown as JsonObject);
  }
}
