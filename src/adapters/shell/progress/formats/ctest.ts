import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { whole } from '../text.ts';

const ENDED = /^(\d{1,9})\/(\d{1,9}) Test +#\d{1,9}: (\S+) \.*(\*{3}| +)([A-Z]\S*)(.*)$/;
const SUMMARY = /^\d{1,3}% tests passed, \d{1,9} tests? failed out of \d{1,9}$/;

/** CTest: `1/3 Test #1: name ....   Passed    0.00 sec`. */
export class CTest implements Format {
  readonly name = 'ctest';
  readonly begins = '0123456789';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  readonly tally = new Tally();

  read({ text }: Line): void {
    if (this.state === 'running' && SUMMARY.test(text)) {
      this.state = 'settled';
      return;
    }
    const [, digits, of, name = '', stars, word = ''] = ENDED.exec(text) ?? [];
    const done = whole(digits);
    const total = whole(of);
    if (done === undefined || total === undefined || done > total) return;
    if (this.state !== 'running') this.tally.startRun();
    this.state = 'running';
    this.tally.expect(total);
    if (word === 'Passed') this.tally.count('passed');
    else if (stars === '***' && (word === 'Skipped' || word === 'Not')) this.tally.count('skipped');
    else {
      this.tally.count('failed');
      this.tally.fail(name);
    }
  }
}
