import type { TaskProgress } from '../../../core/task.ts';
import type { Format } from './format.ts';
import { CMake, Steps } from './formats/build.ts';
import { Cargo } from './formats/cargo.ts';
import { CTest } from './formats/ctest.ts';
import { GoTest } from './formats/go-test.ts';
import { Jest } from './formats/jest.ts';
import { Markers } from './formats/marker.ts';
import { Mocha } from './formats/mocha.ts';
import { NodeSpec } from './formats/node-spec.ts';
import { Playwright } from './formats/playwright.ts';
import { Pytest } from './formats/pytest.ts';
import { Tap } from './formats/tap.ts';
import { Vitest } from './formats/vitest.ts';
import { MAX_FAILURES, type Outcomes, sum } from './tally.ts';
import { endOfEscape, MAX_LINE, withoutEscapes, words } from './text.ts';

/** What the output of a command told so far. Words and names in it are the command's own: data, never instructions. */
export interface ProgressSeen {
  /** Whole numbers, `progress` never above `total`. It does not fall as long as `phase` is the same. */
  progress?: TaskProgress;
  /** Rises when another count began, e.g. that of a second test program; from 1. */
  phase?: number;
  /** In words, at most about 300 characters: those of a marker, of a build's step, or counts (`312 passed, 2 failed`). */
  message?: string;
  /** Names of tests that failed, the first 20, as the runner prints them, without colours, at most 300 characters each. */
  failures?: readonly string[];
  /** How many failed, passed and were left out, in all runs that were seen: of tests, or of what `message` says. */
  failed?: number;
  passed?: number;
  skipped?: number;
  /** What `progress` was read from: `marker`, `tap`, `vitest`, `jest`, `pytest`, `go-test`, `cargo`, … */
  format?: string;
}

const COLON = 0x3a;
const CARRIAGE_RETURN = 0x0d;
const ESC = 0x1b;
/** A run that says nothing for so many lines may have died: then others are listened to again. */
const PATIENCE = 1000;

/**
 * Reads out of the lines that a command writes how far it is, without the command doing anything for it. It believes a format only
 * after lines that nothing else writes, and then only that one until its run is over: what tests print may look like anything.
 * `::progress` markers are said on purpose and come first.
 */
export class ProgressReader {
  readonly #markers = new Markers();
  readonly #formats: readonly Format[] = [
    new Vitest(),
    new Jest(),
    new NodeSpec(),
    new Playwright(),
    new Tap(),
    new Pytest(),
    new GoTest(),
    new Cargo(),
    new CTest(),
    new Mocha(),
    new CMake(),
    new Steps(),
  ];
  /** Who may be meant, by the first character of a line. */
  readonly #byFirst = new Map<number, Format[]>();
  readonly #openers: readonly Format[];
  /** Those that were seen for certain, in the order in which they were. */
  readonly #believed: Format[] = [];
  #current: Format | undefined;
  /** The run that `phase` is about. */
  #shown: Format | undefined;
  #shownRun = 0;
  #phase = 0;
  #quiet = 0;
  #empty = 0;

  constructor() {
    for (const format of this.#formats) {
      for (const character of format.begins) {
        const code = character.charCodeAt(0);
        const others = this.#byFirst.get(code);
        if (others === undefined) this.#byFirst.set(code, [format]);
        else others.push(format);
      }
    }
    this.#openers = this.#formats.filter((format) => format.opening !== undefined);
  }

  /** One whole line as it was written, without its line end, colours in it. @returns whether what is seen changed */
  line(text: string, stream: 'stdout' | 'stderr'): boolean {
    // A bar that is drawn over and over: what stands there in the end is what counts.
    let end = text.length;
    while (end > 0 && text.charCodeAt(end - 1) === CARRIAGE_RETURN) end -= 1;
    this.#quiet += 1;
    if (end > MAX_LINE) return this.#tail(text.slice(end - MAX_LINE - 1, end), stream);
    const begin = end === 0 ? 0 : text.lastIndexOf('\r', end - 1) + 1;
    let at = begin;
    let code = 0;
    let indent = 0;
    for (; at < end; at += 1) {
      code = text.charCodeAt(at);
      if (code === ESC) at = endOfEscape(text, at) - 1;
      else if (code === 0x20 || code === 0x09) indent += 1;
      else break;
    }
    if (at >= end) {
      this.#empty += 1;
      return false;
    }
    if (this.#empty > 1 && indent === 2) this.#opening();
    this.#empty = 0;

    const current = this.#current;
    const busy = current?.state === 'running' && this.#quiet <= PATIENCE;
    const wanted = current?.anyLine === true;
    const interested = this.#byFirst.get(code);
    if (code !== COLON && interested === undefined && !wanted) return false;

    const whole = withoutEscapes(text.slice(begin, end));
    const visible = whole.trimStart();
    if (code === COLON && whole.startsWith('::')) return this.#marker(visible);
    const line = { text: visible.trimEnd(), indent: whole.length - visible.length, stream };
    if (current !== undefined && (wanted || interested?.includes(current) === true)) current.read(line);
    if (!busy && interested !== undefined) this.#listen(interested, line);
    return this.#changes();
  }

  /** Of a long line, only what was drawn last can be meant. */
  #tail(text: string, stream: 'stdout' | 'stderr'): boolean {
    const begin = text.lastIndexOf('\r') + 1;
    return begin > 0 && this.line(text.slice(begin), stream);
  }

  get seen(): ProgressSeen {
    const markers = this.#markers;
    const current = this.#current;
    const tally = current?.tally;
    const believed = this.#believed;
    let outcomes: Outcomes = {};
    for (const format of believed) outcomes = sum(outcomes, format.tally.outcomes);
    const failures = believed.flatMap((format) => format.tally.failures).slice(0, MAX_FAILURES);
    const progress =
      markers.progress ?? (tally && { progress: tally.done, ...(tally.total !== undefined && { total: tally.total }) });
    const message = markers.message ?? headed(markers.group, inWords(believed, current));
    const format = markers.progress !== undefined ? 'marker' : (current?.name ?? (message && 'marker'));
    return {
      ...(progress !== undefined && { progress: { ...progress }, phase: this.#phase }),
      ...(message !== undefined && { message }),
      ...(failures.length > 0 && { failures }),
      ...outcomes,
      ...(format !== undefined && { format }),
    };
  }

  #opening(): void {
    if (this.#current?.state === 'running') return;
    for (const format of this.#openers) format.opening?.();
  }

  /** Others than the one at hand; the first that is sure is it from now on. */
  #listen(interested: readonly Format[], line: Parameters<Format['read']>[0]): void {
    const current = this.#current;
    for (const format of interested) {
      if (format === current) continue;
      const { state } = format;
      const { run } = format.tally;
      format.read(line);
      if (format.state === 'unknown') continue;
      // One that only goes on to report about a run that is over is no news.
      const goesOn = format.state === 'running' && format.tally.changed;
      if (state !== 'unknown' && format.tally.run === run && !goesOn) continue;
      this.#current = format;
      if (!this.#believed.includes(format)) this.#believed.push(format);
      return;
    }
  }

  #changes(): boolean {
    let changed = false;
    for (const format of this.#formats) {
      if (!format.tally.changed) continue;
      format.tally.changed = false;
      if (format.state === 'unknown') continue;
      changed = true;
      if (format === this.#current) this.#quiet = 0;
    }
    const current = this.#current;
    const run = current?.tally.run ?? 0;
    if (current === this.#shown && run === this.#shownRun) return changed;
    this.#shown = current;
    this.#shownRun = run;
    if (this.#markers.progress === undefined) this.#phase += 1;
    return true;
  }

  #marker(text: string): boolean {
    const { phase } = this.#markers;
    const changed = this.#markers.read(text);
    if (this.#markers.phase !== phase) this.#phase += 1;
    return changed;
  }
}

function headed(heading: string | undefined, message: string | undefined): string | undefined {
  return heading === undefined || message === undefined ? (heading ?? message) : words(`${heading}: ${message}`);
}

function inWords(believed: readonly Format[], current: Format | undefined): string | undefined {
  const told = believed
    .map((format) => ({ format, text: countsInWords(format) }))
    .filter(({ format, text }) => text !== '' && (format === current || format.tally.counts));
  if (told.length === 0) return undefined;
  if (told.length === 1) return words(told[0]?.text ?? '');
  return words(told.map(({ format, text }) => `${format.name}: ${text}`).join('; '));
}

function countsInWords({ tally, unit }: Format): string {
  const { passed = 0, failed = 0, skipped = 0 } = tally.outcomes;
  const parts = tally.note === undefined ? [] : [tally.note];
  if (passed > 0) parts.push(`${passed} ${unit === undefined ? '' : `${unit}${passed === 1 ? '' : 's'} `}passed`);
  if (failed > 0) parts.push(`${failed} failed`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return parts.join(', ');
}
