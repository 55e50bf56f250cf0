import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { whole } from '../text.ts';

const PERCENT = /^\[ *(\d{1,3})%\] (\S.*)$/;
const CMAKE =
  /^(?:Building|Linking|Built target|Generating|Scanning dependencies|Automatic MOC|Creating directories for) /;
const STEP = /^\[(\d{1,9})\/(\d{1,9})\] (\S.*)$/;

/** Makefiles that CMake wrote: `[ 42%] Building C object …`. */
export class CMake implements Format {
  readonly name = 'cmake';
  readonly begins = '[';
  state: 'unknown' | 'loose' = 'unknown';
  readonly tally = new Tally();

  read({ text, indent }: Line): void {
    const found = indent > 0 ? null : PERCENT.exec(text);
    const percent = whole(found?.[1]);
    const what = found?.[2] ?? '';
    if (percent === undefined || percent > 100) return;
    if (this.state === 'unknown' && !CMAKE.test(what)) return;
    if (this.state === 'unknown' || (this.tally.done === 100 && percent < 100)) this.tally.startRun();
    this.state = 'loose';
    this.tally.expect(100);
    this.tally.advance(percent);
    this.tally.note = what;
  }
}

/** Ninja, and who counts like it: `[12/340] …`, believed at the second line that goes on from the first. */
export class Steps implements Format {
  readonly name = 'ninja';
  readonly begins = '[';
  state: 'unknown' | 'loose' = 'unknown';
  readonly tally = new Tally();
  #first: { step: number; of: number } | undefined;

  read({ text, indent }: Line): void {
    const found = indent > 0 ? null : STEP.exec(text);
    const step = whole(found?.[1]);
    const of = whole(found?.[2]);
    if (step === undefined || of === undefined || step > of || step === 0) return;
    if (this.state === 'unknown') {
      const first = this.#first;
      this.#first = { step, of };
      if (first?.of !== of || first.step !== step - 1) return;
      this.tally.startRun();
      this.state = 'loose';
    } else if (step < this.tally.done && (step === 1 || this.tally.done === this.tally.total)) this.tally.startRun();
    if (step < this.tally.done) return;
    this.tally.expect(of); // It may learn of more, or of less, to do.
    this.tally.advance(step);
    this.tally.note = found?.[3];
  }
}
