import type { Format, Line } from '../format.ts';
import { type Outcome, Tally } from '../tally.ts';
import { whole } from '../text.ts';

const PASSING = /^(\d{1,15}) passing \(\d{1,9}(?:ms|s|m|h|d)\)$/;
const LATER = /^(\d{1,15}) (pending|failing)$/;
const FAILED = /^(\d{1,9})\) (.+)$/;

/**
 * Mocha's reporter spec; of its others, the report at the end. It has no headline: two empty lines and a title by two spaces, then
 * two marks of tests, are what it is known by.
 */
export class Mocha implements Format {
  readonly name = 'mocha';
  readonly begins = '✔✓-0123456789';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  #opened = false;
  #waiting: { outcome: Outcome; name: string }[] = [];
  /** Failures by the numbers they have in the report. */
  #failed: string[] = [];
  /** The titles of the failure that is being reported; `undefined` outside of the report. */
  #titles: string[] | undefined;
  #reported = 0;

  get anyLine(): boolean {
    return this.#titles !== undefined;
  }

  opening(): void {
    if (this.state === 'running') return;
    this.#opened = true;
    this.#waiting = [];
  }

  read({ text, indent }: Line): void {
    if (indent < 2) return;
    if (this.#titles !== undefined) this.#title(text, indent);
    else if (indent === 2 && this.#summary(text)) return;
    else if (this.state === 'running' || this.#opened) this.#mark(text);
  }

  #mark(text: string): void {
    const mark = /^(?:[✔✓]|-) (?=\S)/.exec(text);
    if (mark !== null) this.#ended(text.startsWith('-') ? 'skipped' : 'passed', '');
    const failed = FAILED.exec(text);
    if (failed !== null && whole(failed[1]) === this.#number + 1) this.#ended('failed', failed[2] ?? '');
  }

  get #number(): number {
    return this.state === 'running'
      ? this.tally.now('failed')
      : this.#waiting.filter(({ outcome }) => outcome === 'failed').length;
  }

  #ended(outcome: Outcome, name: string): void {
    if (this.state !== 'running') {
      this.#waiting.push({ outcome, name });
      if (this.#waiting.length < 2 || this.#waiting.every((test) => test.outcome === 'skipped')) return;
      this.#begin();
    } else this.#count(outcome, name);
  }

  #begin(): void {
    this.tally.startRun();
    this.state = 'running';
    this.#opened = false;
    this.#failed = [];
    for (const { outcome, name } of this.#waiting) this.#count(outcome, name);
    this.#waiting = [];
  }

  #count(outcome: Outcome, name: string): void {
    this.tally.count(outcome);
    if (outcome !== 'failed') return;
    this.tally.fail(name);
    if (this.#failed.length < 20) this.#failed.push(name);
  }

  #summary(text: string): boolean {
    const passing = whole(PASSING.exec(text)?.[1]);
    if (passing !== undefined) {
      if (this.state !== 'running') this.#begin();
      this.#settle({ passed: passing, failed: 0, skipped: 0 });
      this.state = 'settled';
      return true;
    }
    const later = this.state === 'settled' ? LATER.exec(text) : null;
    if (later === null) return false;
    const { passed = 0, skipped = 0 } = this.#end;
    if (later[2] === 'pending') this.#settle({ passed, failed: 0, skipped: whole(later[1]) ?? 0 });
    else {
      this.#settle({ passed, failed: whole(later[1]) ?? 0, skipped });
      this.#titles = [];
      this.#reported = 0;
    }
    return true;
  }

  #end: Partial<Record<Outcome, number>> = {};

  #settle(end: Record<Outcome, number>): void {
    this.#end = end;
    this.tally.settle(end);
    const all = end.passed + end.failed + end.skipped;
    this.tally.advance(all);
    this.tally.expect(this.tally.done);
  }

  /** `1) calculator`, below it `adds`, below that `big numbers:`. */
  #title(text: string, indent: number): void {
    const titles = this.#titles ?? [];
    const begin = indent === 2 ? FAILED.exec(text) : null;
    if (begin !== null && whole(begin[1]) === this.#reported + 1) {
      this.#reported += 1;
      titles.splice(0, titles.length, begin[2] ?? '');
    } else if (titles.length > 0 && indent > 4) titles.push(text);
    else return;
    if (!text.endsWith(':')) {
      if (titles.length > 20) titles.length = 0;
      return;
    }
    const name = titles.join(' > ').slice(0, -1);
    titles.length = 0;
    const before = this.#failed[this.#reported - 1];
    if (before === undefined) this.tally.fail(name);
    else this.tally.rename(before, name);
    if (this.#reported >= (this.#end.failed ?? 0)) this.#titles = undefined;
  }
}
