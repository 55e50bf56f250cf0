import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { countsIn, whole } from '../text.ts';

const HEADLINE = /^(?:RUN|DEV) {1,2}v\d{1,5}\.\d{1,5}\.\d{1,5}/;
const FILE_COUNTS = /^\((\d{1,9})(?: tests?)?((?: \| \d{1,9} [a-z]{1,20}){0,5})\)/;
const TIME = / \d{1,9}ms$/;
const DOTS = /^[·x*-]+/;

/** Vitest's reporters default, verbose and dot, as they are where no terminal looks on. */
export class Vitest implements Format {
  readonly name = 'vitest';
  readonly begins = 'RDFT✓×❯↓□·x-*';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  /** What is counted: files with their tests, or tests one by one. Where both are shown, only one of them. */
  #by: 'file' | 'test' | undefined;
  /** The file whose tests are listed at the moment. */
  #file = '';
  /** Files that could not be loaded have no tests that could fail. */
  #broken = 0;

  read({ text, indent, stream }: Line): void {
    if (indent === 1 && HEADLINE.test(text)) {
      this.tally.startRun();
      this.state = 'running';
      this.#by = undefined;
      this.#file = '';
      this.#broken = 0;
    } else if (this.state === 'unknown') return;
    else if (indent === 1 && text.startsWith('FAIL ')) this.#failed(text.slice(5));
    else if (this.state === 'settled') return;
    else if (text.startsWith('Tests  ')) this.#summary(text.slice(7));
    else if (indent === 1) this.#atMargin(text);
    else if (indent > 1) this.#listed(text);
    else if (indent === 0 && stream === 'stdout') this.#dots(text);
  }

  #atMargin(text: string): void {
    const mark = text[0];
    if (text[1] !== ' ' || mark === undefined) return;
    const rest = text.slice(2);
    const at = rest.lastIndexOf(' (');
    const counts = at === -1 ? null : FILE_COUNTS.exec(rest.slice(at + 1));
    if (counts !== null && !rest.slice(0, at).includes(' > ')) {
      this.#file = rest.slice(0, at).trim().replace(/ {2,}/g, ' ');
      if (this.#by !== 'test') this.#fileEnded(whole(counts[1]) ?? 0, counts[2] ?? '');
    } else if (rest.includes(' > ') && this.#by !== 'file') {
      if (mark === '✓') this.#testEnded('passed');
      else if (mark === '↓' || mark === '□') this.#testEnded('skipped');
      else if (mark === '×') {
        this.#testEnded('failed');
        this.tally.fail(rest.replace(TIME, ''));
      }
    }
  }

  /** Below a file: its tests, those that failed with their full names before version 2. */
  #listed(text: string): void {
    if (this.#file === '') return;
    if (text.startsWith('× ')) this.tally.fail(`${this.#file} > ${text.slice(2).replace(TIME, '')}`);
    else if (text.startsWith(`❯ ${this.#file} > `)) this.tally.fail(text.slice(2).replace(TIME, ''));
  }

  #testEnded(outcome: 'passed' | 'failed' | 'skipped'): void {
    this.#by = 'test';
    this.tally.count(outcome);
  }

  #fileEnded(tests: number, rest: string): void {
    this.#by = 'file';
    const counts = rest === '' ? undefined : countsIn(rest.slice(3));
    const failed = counts?.get('failed') ?? 0;
    const skipped = (counts?.get('skipped') ?? 0) + (counts?.get('todo') ?? 0);
    if (failed + skipped > tests) return;
    this.tally.count('failed', failed);
    this.tally.count('skipped', skipped);
    this.tally.count('passed', tests - failed - skipped);
  }

  /** The report at the end gives each its full name; on the other stream, so it may come after the summary. */
  #failed(rest: string): void {
    const name = rest.trim().replace(/ {2,}/g, ' ');
    const load = name.endsWith(' ]') ? name.lastIndexOf(' [ ') : -1;
    if (load !== -1) {
      this.tally.fail(name.slice(0, load));
      this.#broken += 1;
      this.tally.count('failed');
      if (this.state === 'settled') this.tally.expectMore(1);
      return;
    }
    const file = name.indexOf(' > ');
    const last = name.lastIndexOf(' > ');
    if (file === -1) return;
    this.tally.rename(name.slice(0, file) + name.slice(last), name);
  }

  #summary(text: string): void {
    const at = text.lastIndexOf(' (');
    const counts = countsIn(at === -1 ? text.trim() : text.slice(0, at).trim());
    if (counts === undefined && text.trim() !== 'no tests') return;
    const total = at === -1 ? 0 : (whole(text.slice(at + 2, -1)) ?? 0);
    const outcomes = {
      passed: (counts?.get('passed') ?? 0) + (counts?.get('expected fail') ?? 0),
      failed: (counts?.get('failed') ?? 0) + this.#broken,
      skipped: (counts?.get('skipped') ?? 0) + (counts?.get('todo') ?? 0),
    };
    this.tally.settle(outcomes);
    this.tally.expect(Math.max(total + this.#broken, this.tally.done));
    this.tally.advance(total + this.#broken);
    this.state = 'settled';
  }

  /** They come without a line end, so late; what a test prints comes right behind them. */
  #dots(text: string): void {
    const dots = DOTS.exec(text)?.[0] ?? '';
    const rest = text.slice(dots.length);
    if (!dots.includes('·') || this.#by === 'file' || (rest !== '' && !/^std(?:out|err) \| /.test(rest))) return;
    this.#by = 'test';
    for (const dot of dots) this.tally.count(dot === '·' ? 'passed' : dot === 'x' ? 'failed' : 'skipped');
  }
}
