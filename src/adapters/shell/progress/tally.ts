import { words } from './text.ts';

/** So many names of failures are kept. */
export const MAX_FAILURES = 20;

export type Outcome = 'passed' | 'failed' | 'skipped';
export type Outcomes = Partial<Record<Outcome, number>>;

/**
 * What one format has told: how far the run at hand is, and what came out of it and of the runs before it (a command may run
 * several test programs one after the other). Numbers come from the output of a command, so each is held to what it can be.
 */
export class Tally {
  /** Which run it is, from 1; 0: none has begun. Within one, `done` does not fall. */
  run = 0;
  /** Set by whatever changes anything; whoever looks takes it back. */
  changed = false;
  #done = 0;
  #total: number | undefined;
  #now: Outcomes = {};
  #before: Outcomes = {};
  #note: string | undefined;
  readonly #failures: string[] = [];

  startRun(): void {
    this.run += 1;
    this.#before = sum(this.#before, this.#now);
    this.#now = {};
    this.#done = 0;
    this.#total = undefined;
    this.#note = undefined;
    this.changed = true;
  }

  get done(): number {
    return this.#done;
  }

  /** Only as long as it can be true. */
  get total(): number | undefined {
    return this.#total !== undefined && this.#total >= this.#done ? this.#total : undefined;
  }

  get outcomes(): Outcomes {
    return sum(this.#before, this.#now);
  }

  /** Whether outcomes are what it counts. */
  get counts(): boolean {
    return Object.keys(this.outcomes).length > 0;
  }

  get failures(): readonly string[] {
    return this.#failures;
  }

  /** What is going on, where that is told in words. */
  get note(): string | undefined {
    return this.#note;
  }

  set note(text: string | undefined) {
    this.#note = text === undefined || text === '' ? undefined : words(text);
    this.changed = true;
  }

  /** One more, or several, came to an end. */
  count(outcome: Outcome, times = 1): void {
    this.mark(outcome, times);
    this.advance(added(this.#done, times));
  }

  /** The same where how far the run is, is told apart. */
  mark(outcome: Outcome, times = 1): void {
    this.#now[outcome] = added(this.#now[outcome], times);
    this.changed = true;
  }

  /** Without an outcome: that is told later, or never. */
  advance(to: number): void {
    if (to <= this.#done) return;
    this.#done = to;
    this.changed = true;
  }

  expect(total: number | undefined): void {
    if (total === undefined || total === this.#total) return;
    this.#total = total;
    this.changed = true;
  }

  /** More of the run at hand was announced. */
  expectMore(more: number): void {
    this.expect(added(this.#total, more));
  }

  /** What the runner itself says at the end of the run; nobody knows better. */
  settle(outcomes: Outcomes): void {
    this.#now = { ...outcomes };
    this.changed = true;
  }

  /** Of the run at hand. */
  now(outcome: Outcome): number {
    return this.#now[outcome] ?? 0;
  }

  /** A failure by its name. The same name again is the same failure, told twice. */
  fail(name: string): boolean {
    const clean = words(name);
    if (clean === '' || this.#failures.includes(clean)) return false;
    if (this.#failures.length < MAX_FAILURES) {
      this.#failures.push(clean);
      this.changed = true;
    }
    return true;
  }

  /** A failure got its full name. */
  rename(old: string, name: string): void {
    const at = this.#failures.indexOf(words(old));
    if (at === -1) {
      this.fail(name);
      return;
    }
    const clean = words(name);
    if (this.#failures[at] === clean) return;
    if (this.#failures.includes(clean)) this.#failures.splice(at, 1);
    else this.#failures[at] = clean;
    this.changed = true;
  }

  unfail(name: string): void {
    const at = this.#failures.indexOf(words(name));
    if (at === -1) return;
    this.#failures.splice(at, 1);
    this.changed = true;
  }
}

export function sum(one: Outcomes, other: Outcomes): Outcomes {
  const all = { ...one };
  for (const outcome of ['passed', 'failed', 'skipped'] as const) {
    const more = other[outcome];
    if (more !== undefined) all[outcome] = added(all[outcome], more);
  }
  return all;
}

function added(one: number | undefined, other: number): number {
  return Math.min((one ?? 0) + other, Number.MAX_SAFE_INTEGER);
}
