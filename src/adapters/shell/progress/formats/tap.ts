import type { Format, Line } from '../format.ts';
import { Tally } from '../tally.ts';
import { whole } from '../text.ts';

const POINT = /^(not )?ok(?: (\d{1,15})(?= |$))?(?: (?:- ?)?(.*))?$/;
const PLAN = /^1\.\.(\d{1,15})(?: *#.*)?$/;
const DIRECTIVE = /^(?:skip|todo)/i;

/**
 * The Test Anything Protocol, 13 and 14, and what came before: without a headline it is believed once a plan is followed by its
 * first point, or the points 1 and 2 by each other. Subtests are indented and give names to failures; only points at the margin
 * are counted.
 * @see https://testanything.org/tap-version-14-specification.html
 */
export class Tap implements Format {
  readonly name = 'tap';
  readonly begins = 'T1onB-.';
  state: 'unknown' | 'running' | 'settled' = 'unknown';
  tally = new Tally();
  #expected = 1;
  #yaml = false;
  /** Failures whose test has not ended yet: its name will be part of theirs. */
  #open: { indent: number; name: string }[] = [];

  read(line: Line): void {
    const { text, indent } = line;
    if (this.#inYaml(text, indent) || (indent === 0 && this.#atMargin(text))) return;
    const point = POINT.exec(text);
    if (point !== null) this.#point(point[1] !== undefined, whole(point[2]), point[3] ?? '', indent);
  }

  /** @returns whether it was anything but a point */
  #atMargin(text: string): boolean {
    if (text.startsWith('Bail out!')) {
      if (this.state !== 'running') return true;
      const why = text.slice('Bail out!'.length).trim();
      this.tally.note = why === '' ? 'bailed out' : `bailed out: ${why}`;
      this.state = 'settled';
      return true;
    }
    if (!/^TAP version \d{1,3}$/.test(text)) return this.#plan(text);
    this.#begin();
    return true;
  }

  #begin(): void {
    if (this.state === 'unknown') this.tally = new Tally();
    this.tally.startRun();
    this.state = 'running';
    this.#expected = 1;
    this.#yaml = false;
    this.#open = [];
  }

  #inYaml(text: string, indent: number): boolean {
    if (indent === 0) this.#yaml = false;
    else if (text === '---') this.#yaml = true;
    else if (text === '...') this.#yaml = false;
    return this.#yaml;
  }

  #plan(text: string): boolean {
    const plan = PLAN.exec(text);
    if (plan === null) return false;
    if (this.state === 'settled') this.#begin();
    if (this.state === 'unknown') {
      // Nobody's, until a point follows.
      this.tally = new Tally();
      this.tally.startRun();
      this.#expected = 1;
    }
    this.tally.expect(whole(plan[1]));
    this.#settle();
    return true;
  }

  #point(failed: boolean, number: number | undefined, described: string, indent: number): void {
    if (this.state === 'settled' && indent === 0 && number === 1) this.#begin();
    if (this.state === 'unknown') {
      if (indent > 0) return;
      if (number !== this.#expected) {
        this.#expected = 1;
        this.tally = new Tally();
        return;
      }
      if (this.tally.run === 0) this.tally.startRun();
      if (this.tally.total !== undefined || number === 2) this.state = 'running';
      this.#expected += 1;
    }
    const { name, directive } = described === '' ? { name: '', directive: '' } : nameAndDirective(described);
    const excused = DIRECTIVE.test(directive);
    this.#name(failed && !excused, name === '' ? `test ${number ?? this.tally.done + 1}` : name, indent);
    if (indent > 0) return;
    this.tally.count(excused ? 'skipped' : failed ? 'failed' : 'passed');
    this.#settle();
  }

  #settle(): void {
    const { done, total } = this.tally;
    if (this.state === 'running' && total !== undefined && done >= total) this.state = 'settled';
  }

  #name(failed: boolean, name: string, indent: number): void {
    const parts = this.#open.filter((failure) => failure.indent > indent);
    this.#open = indent === 0 ? [] : this.#open.filter((failure) => failure.indent <= indent);
    if (!failed) {
      for (const part of parts) this.tally.unfail(part.name);
    } else if (parts.length === 0) {
      if (this.tally.fail(name) && indent > 0 && this.#open.length < 20) this.#open.push({ indent, name });
    } else {
      for (const part of parts) {
        const whole = `${name} > ${part.name}`;
        this.tally.rename(part.name, whole);
        if (indent > 0) this.#open.push({ indent, name: whole });
      }
    }
  }
}

/** A description ends where a ` #` begins that is not escaped. */
function nameAndDirective(text: string): { name: string; directive: string } {
  const hash = /(?:^|\s)#\s*/.exec(text);
  const name = (hash === null ? text : text.slice(0, hash.index)).trim().replace(/\\([#\\])/g, '$1');
  return { name, directive: hash === null ? '' : text.slice(hash.index + hash[0].length) };
}
