import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { whole } from '../text.ts';

const HEADLINE = /^Running (\d{1,9}) tests? using (\d{1,5}) workers?$/;
const ENDED = /^(✓|✘|✗|-|ok|x) +(\d{1,9}) (\S.*)$/;
const STEP = /^\[(\d{1,9})\/(\d{1,9})\] \S/;
const FAILED = /^(\d{1,9})\) (\S.*)$/;
const SUMMARY = /^(\d{1,9}) (failed|interrupted|flaky|skipped|did not run|passed)(?: \([\d.]{1,12}m?[smh]\))?$/;

/** Playwright Test's reporters list, line and, at the end, all others. */
export class Playwright implements Format {
  readonly name = 'playwright';
  readonly begins = 'R✓✘✗-ox[0123456789';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();
  readonly #end = new Map<string, number>();

  read({ text, indent }: Line): void {
    if (indent === 0 && text.startsWith('Running ')) this.#begin(whole(HEADLINE.exec(text)?.[1]));
    else if (this.state === 'unknown') return;
    else if (indent === 2) this.#indented(text);
    else if (indent === 0 && this.state === 'running') this.#advance(whole(STEP.exec(text)?.[1]) ?? 0);
  }

  #indented(text: string): void {
    const failed = FAILED.exec(text);
    const summary = SUMMARY.exec(text);
    if (failed !== null) this.#fail(failed[2] ?? '');
    else if (summary !== null) this.#summary(whole(summary[1]) ?? 0, summary[2] ?? '');
    else if (this.state === 'running') this.#ended(ENDED.exec(text));
  }

  /** A test that is tried again is told again, under a number of its own: there may be more than were announced. */
  #advance(to: number): void {
    this.tally.advance(Math.min(to, this.tally.total ?? 0));
  }

  #ended(found: RegExpExecArray | null): void {
    if (found === null) return;
    const [, mark, , name = ''] = found;
    this.#advance(this.tally.done + 1);
    if (mark === '-') this.tally.mark('skipped');
    else if (mark === '✓' || mark === 'ok') this.tally.mark('passed');
    else {
      this.tally.mark('failed');
      this.#fail(name.replace(/ \([\d.]{1,12}m?[smh]\)$/, ''));
    }
  }

  #begin(total: number | undefined): void {
    if (total === undefined) return;
    this.tally.startRun();
    this.state = 'running';
    this.tally.expect(total);
    this.#end.clear();
  }

  /** In the report a line is drawn behind the name. */
  #fail(name: string): void {
    this.tally.fail(name.replace(/ ─{3,}$/, ''));
  }

  #summary(count: number, word: string): void {
    this.state = 'settled';
    this.#end.set(word, count);
    const of = (name: string) => this.#end.get(name) ?? 0;
    this.tally.settle({
      passed: of('passed') + of('flaky'),
      failed: of('failed') + of('interrupted'),
      skipped: of('skipped') + of('did not run'),
    });
    this.#advance([...this.#end.values()].reduce((all, some) => all + some, 0));
  }
}
