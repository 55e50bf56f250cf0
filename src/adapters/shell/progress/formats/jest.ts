import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { countsIn } from '../text.ts';

const EXTRA = / \([^()]{1,60}\)$/;
const SCRIPT = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;

/**
 * Jest. While it runs it tells of files; of tests only those that failed, unless it is verbose, and even then not before their
 * file is done. So files are its progress, and the tests are counted at the end.
 */
export class Jest implements Format {
  readonly name = 'jest';
  readonly begins = 'PFTS●';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  /** The file whose failures are listed at the moment. */
  #failing: string | undefined;
  #broken = 0;
  /** All failures are told once more where there are many. */
  #again = false;

  read({ text, indent }: Line): void {
    if (indent <= 1 && (text.startsWith('PASS ') || text.startsWith('FAIL '))) this.#file(text);
    else if (this.state !== 'running') return;
    else if (text.startsWith('● ') && indent === 2) this.#failure(text.slice(2));
    else if (indent > 0) return;
    else if (text === 'Summary of all failing tests') this.#again = true;
    else if (text.startsWith('Test Suites: ')) this.#suites(text.slice(13));
    else if (text.startsWith('Tests: ')) this.#tests(text.slice(7));
  }

  #file(text: string): void {
    const file = text.slice(5).replace(EXTRA, '').trim();
    if (!SCRIPT.test(file) || file.includes(' > ')) return;
    if (this.#again && this.state === 'running') return;
    if (this.state !== 'running') {
      this.tally.startRun();
      this.state = 'running';
      this.#broken = 0;
      this.#again = false;
    }
    this.#failing = text.startsWith('FAIL') ? file : undefined;
    this.tally.advance(this.tally.done + 1);
    this.tally.note = `${this.tally.done} ${this.tally.done === 1 ? 'file' : 'files'}`;
  }

  #failure(name: string): void {
    if (this.#failing === undefined || this.#again || name === 'Console') return;
    const loaded = name !== 'Test suite failed to run';
    if (!loaded) this.#broken += 1;
    this.tally.fail(loaded ? name : this.#failing);
    this.tally.mark('failed');
  }

  #suites(text: string): void {
    // `3 of 4 total` where some were skipped.
    const total = countsIn(text.trim().replace(/\d{1,15} of (?=\d)/, ''))?.get('total');
    if (total === undefined) return;
    this.tally.expect(Math.max(total, this.tally.done));
    this.tally.advance(total);
  }

  #tests(text: string): void {
    const counts = countsIn(text.trim());
    if (counts?.get('total') === undefined) return;
    this.tally.settle({
      passed: counts.get('passed') ?? 0,
      failed: (counts.get('failed') ?? 0) + this.#broken,
      skipped: (counts.get('skipped') ?? 0) + (counts.get('todo') ?? 0),
    });
    this.tally.note = undefined;
    this.state = 'settled';
  }
}
