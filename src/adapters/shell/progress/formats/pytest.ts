import type { Format, Line } from '../format.ts';
import { type Outcome, Tally } from '../tally.ts';
import { countsIn, whole } from '../text.ts';

const LETTERS: Record<string, Outcome | undefined> = {
  '.': 'passed',
  F: 'failed',
  E: 'failed',
  s: 'skipped',
  x: 'skipped',
  X: 'passed',
};
const WORDS: Record<string, Outcome | undefined> = {
  PASSED: 'passed',
  FAILED: 'failed',
  ERROR: 'failed',
  SKIPPED: 'skipped',
  XFAIL: 'skipped',
  XPASS: 'passed',
};
/** In front of how far it is: `.F.sx..`, alone or behind the name of a file. */
const DOTS = /^[.FEsxXRu,]+$/;
const FILE = /\.\w{1,8}$/;
const WORD = /(?:^| )(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(|$)/;
const FAR = /^ *(\d{1,3})%$|^ *(\d{1,15})\/(\d{1,15})$/;
const WORKER = /^\[gw\d{1,4}\] \[ *(\d{1,3})%\] ([A-Z]+) (\S.*)$/;
const COLLECTED = /^(?:collecting \.\.\. )?collected (\d{1,15}) items?(.*)$/;
const WORKERS = /^\d{1,4} workers? \[(\d{1,15}) items?\]$/;
const SUMMARY = /^(\d{1,15} [a-z]{1,20}.{0,200}) in \d{1,9}\.\d{2}s(?: \([\d:, a-z]{1,30}\))?$/;
const OUTCOMES =
  /^(?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected|rerun|subtests? (?:passed|failed|skipped))$/;

/** pytest: with its dots, verbose, quiet, and with pytest-xdist. */
export class Pytest implements Format {
  readonly name = 'pytest';
  readonly begins = '=.FEsxX123456789n';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  /** It told how many there are. Else what it tells in percent is all there is. */
  #collected: number | undefined;
  /** The tests are over, the report is on. */
  #reports = false;

  get anyLine(): boolean {
    return this.state === 'running';
  }

  read({ text, indent }: Line): void {
    if (indent > 0) return;
    if (text.startsWith('=')) this.#heading(text);
    else if (/^\d/.test(text) || text.startsWith('no tests ran')) this.#summary(text);
    if (this.#reports) this.#reported(text);
    else if (text.startsWith('[gw')) this.#worker(text);
    else if (text.endsWith(']')) this.#far(text);
    if (this.state === 'running') this.#collect(COLLECTED.exec(text) ?? WORKERS.exec(text));
  }

  #begin(): void {
    this.tally.startRun();
    this.state = 'running';
    this.#collected = undefined;
    this.#reports = false;
  }

  #heading(line: string): void {
    const text = between(line);
    if (text === 'test session starts') this.#begin();
    else if (text === 'FAILURES' || text === 'ERRORS' || text === 'short test summary info') this.#reports = true;
    else this.#summary(text);
  }

  #collect(found: RegExpExecArray | null): void {
    const selected = / (\d{1,15}) selected/.exec(found?.[2] ?? '');
    const count = whole(selected?.[1] ?? found?.[1]);
    if (count === undefined || this.tally.done > 0) return;
    this.#collected = count;
    this.tally.expect(count);
  }

  /** `tests/a.py ..F [ 42%]`, `..F [ 42%]`, `tests/a.py::test_b PASSED [ 42%]`, and the same with `[35/40]`. */
  #far(text: string): void {
    const open = text.lastIndexOf('[');
    const far = open === -1 ? null : FAR.exec(text.slice(open + 1, -1));
    if (far === null) return;
    const before = text.slice(0, open).trimEnd();
    const space = before.lastIndexOf(' ');
    const dots = before.slice(space + 1);
    const file = space === -1 ? '' : before.slice(0, space).trimEnd();
    if (DOTS.test(dots) && (file === '' || FILE.test(file))) {
      // Without a headline (`-q`) nothing but its own shape tells what it is.
      if (this.state !== 'running') {
        if (file !== '' || (dots.length < 20 && open - dots.length < 2)) return;
        this.#begin();
      }
      for (const dot of dots) this.#ended(LETTERS[dot]);
    } else if (this.state === 'running') {
      const word = WORD.exec(before);
      const outcome = word === null ? undefined : WORDS[word[1] ?? ''];
      if (outcome === undefined) return;
      this.#ended(outcome);
      const name = before.slice(0, word?.index).trim();
      if (outcome === 'failed' && name.includes('::')) this.tally.fail(name);
    } else return;
    this.#advance(far);
  }

  #worker(text: string): void {
    const [, percent, word = '', name = ''] = (this.state === 'running' && WORKER.exec(text)) || [];
    const outcome = WORDS[word];
    if (outcome === undefined || percent === undefined) return;
    this.#ended(outcome);
    if (outcome === 'failed') this.tally.fail(name);
    if (this.#collected === undefined) this.#advance([text, percent]);
  }

  #ended(outcome: Outcome | undefined): void {
    if (outcome === undefined) return;
    this.tally.mark(outcome);
    // A test whose clean-up fails is told twice.
    if (this.#collected !== undefined) this.tally.advance(Math.min(this.tally.done + 1, this.#collected));
  }

  #advance([, percent, done, of]: string[]): void {
    if (this.#collected !== undefined) return;
    const total = percent === undefined ? whole(of) : 100;
    const far = whole(percent ?? done);
    if (far === undefined || total === undefined || far > total) return;
    this.tally.expect(total);
    this.tally.advance(far);
  }

  /** `FAILED tests/a.py::test_b - assert 1 == 2` */
  #reported(text: string): void {
    const word = this.state !== 'running' ? undefined : /^(?:FAILED|ERROR) (?=\S)/.exec(text)?.[0];
    if (word === undefined) return;
    const end = text.indexOf(' - ');
    const name = text.slice(word.length, end === -1 ? undefined : end);
    if (name.includes('::') || FILE.test(name)) this.tally.fail(name);
  }

  #summary(text: string): void {
    const counts = countsIn(SUMMARY.exec(text)?.[1] ?? '');
    if (counts === undefined && !/^no tests ran in \d{1,9}\.\d{2}s$/.test(text)) return;
    for (const word of counts?.keys() ?? []) if (!OUTCOMES.test(word)) return;
    if (this.state !== 'running') this.#begin();
    const of = (...named: string[]) => named.reduce((all, word) => all + (counts?.get(word) ?? 0), 0);
    this.tally.settle({
      passed: of('passed', 'xpassed'),
      failed: of('failed', 'error', 'errors'),
      skipped: of('skipped', 'xfailed'),
    });
    this.state = 'settled';
  }
}

/** `==== words ====` */
function between(line: string): string {
  let from = 0;
  let to = line.length;
  while (line[from] === '=') from += 1;
  while (to > from && line[to - 1] === '=') to -= 1;
  return line.slice(from, to).trim();
}
