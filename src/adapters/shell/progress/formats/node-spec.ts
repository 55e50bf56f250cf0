import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { whole } from '../text.ts';

const ENDED = /^([✔✖﹣⚠▶]) (.*) \((\d{1,12}(?:\.\d{1,9})?)ms\)( #.*)?$/;
const TOTAL = /^ℹ (tests|pass|fail|cancelled|skipped|todo|duration_ms) (\d{1,15})/;

/**
 * `node --test` with its reporter spec. A suite is announced (`▶`) and told once more when it ends; only what was not announced is
 * counted, and the count at the end is the runner's own. (Its reporter tap is read as TAP.)
 */
export class NodeSpec implements Format {
  readonly name = 'node-test';
  readonly begins = '▶✔✖﹣⚠ℹ';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  #suites: { indent: number; name: string }[] = [];
  /** A test that would be the first of a run, if another follows. */
  #first: [mark: string, name: string, more: string] | undefined;
  #totals = new Map<string, number>();

  read({ text, indent }: Line): void {
    if (text.startsWith('ℹ')) {
      if (indent === 0) this.#total(TOTAL.exec(text));
      return;
    }
    const ended = ENDED.exec(text);
    if (ended !== null) this.#ended(ended, indent);
    else if (text.startsWith('▶ ')) this.#announced(text.slice(2), indent);
  }

  #announced(name: string, indent: number): void {
    this.#leave(indent);
    if (this.#suites.length < 50) this.#suites.push({ indent, name });
  }

  #leave(indent: number): void {
    while ((this.#suites.at(-1)?.indent ?? -1) >= indent) this.#suites.pop();
  }

  #ended([, mark = '', name = '', ms = '', more = '']: string[], indent: number): void {
    if (this.state === 'settled' && (mark === '✖' || mark === '⚠')) return; // All failures, once more.
    if (this.state !== 'running') {
      // Nothing else tells of tests in millionths of a millisecond, and of more than one.
      if (!/\.\d{3,}$/.test(ms)) return;
      const first = this.#first;
      this.#first = [mark, name, more];
      if (first === undefined && this.#suites.length === 0) return;
      this.#begin();
      if (first !== undefined) this.#count(...first);
    }
    while ((this.#suites.at(-1)?.indent ?? -1) > indent) this.#suites.pop();
    const suite = this.#suites.at(-1);
    if (suite?.indent === indent && (suite.name === name || mark === '▶')) {
      this.#suites.pop();
      return;
    }
    this.#leave(indent);
    this.#count(mark, name, more);
  }

  #begin(): void {
    this.tally.startRun();
    this.state = 'running';
    this.#totals = new Map();
    this.#first = undefined;
  }

  #count(mark: string, name: string, more: string): void {
    if (mark === '✔') this.tally.count(/^ # TODO/.test(more) ? 'skipped' : 'passed');
    else if (mark !== '✖' || more !== '')
      this.tally.count('skipped'); // A failure with a remark was to be expected.
    else {
      this.tally.count('failed');
      this.tally.fail([...this.#suites.map((open) => open.name), name].join(' > '));
    }
  }

  #total(found: RegExpExecArray | null): void {
    const [, word = '', digits] = found ?? [];
    const count = whole(digits);
    if (count === undefined || (this.state === 'unknown' && this.#first === undefined)) return;
    if (this.#first !== undefined) this.#begin();
    this.state = 'settled';
    this.#totals.set(word, count);
    if (word !== 'duration_ms') return;
    const of = (name: string) => this.#totals.get(name) ?? 0;
    this.#suites = [];
    this.tally.settle({
      passed: of('pass'),
      failed: of('fail') + of('cancelled'),
      skipped: of('skipped') + of('todo'),
    });
    this.tally.expect(Math.max(of('tests'), this.tally.done));
    this.tally.advance(of('tests'));
  }
}
