import type { Format, Line } from '../format.ts';
import { type Outcome, type Outcomes, sum, Tally } from '../tally.ts';
import { whole } from '../text.ts';

const BEGIN = /^running (\d{1,15}) tests?$/;
const ENDED = /^(ok|FAILED|ignored)(?:, .*| <.*>)?$/;
const RESULT =
  /^test result: (?:ok|FAILED)\. (\d{1,15}) passed; (\d{1,15}) failed; (\d{1,15}) ignored; (\d{1,15}) measured; /;
const QUIET = /^[.iF]+(?: \d{1,15}\/\d{1,15})?$/;
const OUTCOME: Record<string, Outcome | undefined> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };
const LETTER: Record<string, Outcome | undefined> = { '.': 'passed', F: 'failed', i: 'skipped' };

/** `cargo test`, also with `--quiet`: one test program after the other, each of which says how many it will run. */
export class Cargo implements Format {
  readonly name = 'cargo';
  readonly begins = 'rt.iF';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  /** What there was before the program at hand. */
  #before: { done: number; outcomes: Outcomes } = { done: 0, outcomes: {} };
  #announced: number | undefined;

  get anyLine(): boolean {
    return this.state === 'running';
  }

  read({ text, indent }: Line): void {
    if (indent > 0) return;
    const begin = BEGIN.exec(text);
    if (begin !== null) {
      this.#announced = whole(begin[1]);
      if (this.state !== 'unknown') this.#begin();
    } else if (text.startsWith('test result: ')) this.#result(RESULT.exec(text));
    else if (text.startsWith('test ')) this.#test(text);
    else if (text.endsWith(' --- FAILED') || QUIET.test(text)) this.#quiet(text);
  }

  #quiet(text: string): void {
    if (this.state !== 'running') {
      if (this.#announced === undefined) return;
      this.#begin();
    }
    if (text.endsWith(' --- FAILED')) {
      this.tally.fail(text.slice(0, -' --- FAILED'.length));
      this.tally.count('failed');
      return;
    }
    for (const letter of text.split(' ', 1)[0] ?? '') {
      const outcome = LETTER[letter];
      if (outcome !== undefined) this.tally.count(outcome);
    }
  }

  #begin(): void {
    if (this.tally.run === 0) this.tally.startRun();
    this.state = 'running';
    this.#before = { done: this.tally.done, outcomes: this.tally.outcomes };
    if (this.#announced !== undefined) this.tally.expect(sumOf(this.tally.done, this.#announced));
    this.#announced = undefined;
  }

  #test(text: string): void {
    const at = text.lastIndexOf(' ... ');
    const outcome = at === -1 ? undefined : OUTCOME[ENDED.exec(text.slice(at + 5))?.[1] ?? ''];
    if (outcome === undefined) return;
    if (this.state !== 'running') {
      if (this.#announced === undefined) return;
      this.#begin();
    }
    this.tally.count(outcome);
    if (outcome === 'failed') this.tally.fail(text.slice('test '.length, at));
  }

  /** Its own words about the program that ended are better than what was counted: tests may print between theirs. */
  #result(found: RegExpExecArray | null): void {
    if (found === null) return;
    if (this.state !== 'running') this.#begin();
    const [passed = 0, failed = 0, skipped = 0, measured = 0] = found.slice(1).map((digits) => whole(digits) ?? 0);
    this.tally.settle(sum(this.#before.outcomes, { passed: passed + measured, failed, skipped }));
    this.tally.advance(sumOf(this.#before.done, passed + failed + skipped + measured));
    this.state = 'settled';
  }
}

function sumOf(one: number, other: number): number {
  return Math.min(one + other, Number.MAX_SAFE_INTEGER);
}
