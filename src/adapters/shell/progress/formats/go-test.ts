import type { Format, Line } from '../format.ts';
import { type Outcome, Tally } from '../tally.ts';

const ENDED = /^--- (PASS|FAIL|SKIP): (\S.*) \(\d{1,9}\.\d{2}s\)$/;
const PACKAGE = /^(ok {2}|FAIL)\t(\S+)(?:\t(?:\(cached\)|\d{1,9}\.\d{3}s)(?:[\t ].*)?| (\[[a-z ]{1,40}\]))$/;
const OUTCOME: Record<string, Outcome | undefined> = {
  PASS: 'passed',
  FAIL: 'failed',
  SKIP: 'skipped',
  pass: 'passed',
  fail: 'failed',
  skip: 'skipped',
};

/**
 * `go test`, plain, with `-v` and with `-json`. Plain it tells of packages, else of tests, of which those at the top are counted.
 * How many there will be it never says.
 */
export class GoTest implements Format {
  readonly name = 'go-test';
  readonly begins = '=-oF{';
  state: 'unknown' | 'running' | 'loose' = 'unknown';
  readonly tally = new Tally();
  #by: 'packages' | 'tests' | undefined;
  /** Names of tests at the top that failed in the package at hand (`-json`: in any). */
  #failedHere = 0;
  readonly #failedIn = new Set<string>();
  /** `-json`: packages that began and did not end. */
  #open = 0;

  get unit(): string | undefined {
    return this.#by === 'packages' ? 'package' : undefined;
  }

  read({ text, indent }: Line): void {
    if (text.startsWith('{"')) {
      if (indent === 0) this.#event(text);
      return;
    }
    if (/^=== RUN {3}\S/.test(text)) {
      this.#believe('running');
      this.#byTests();
      return;
    }
    const test = ENDED.exec(text);
    if (test !== null) this.#test(OUTCOME[test[1] ?? ''] ?? 'passed', test[2] ?? '', indent);
    else if (indent === 0) this.#package(PACKAGE.exec(text));
  }

  #believe(state: 'running' | 'loose'): void {
    if (this.state === 'unknown') this.tally.startRun();
    this.state = state;
  }

  /** One that told of packages so far is followed by another one. */
  #byTests(): void {
    if (this.#by === 'packages') this.tally.startRun();
    this.#by = 'tests';
  }

  #test(outcome: Outcome, name: string, indent: number): void {
    if (this.state === 'unknown' && (outcome !== 'failed' || indent > 0)) return;
    if (this.state === 'unknown') this.#believe('loose');
    if (indent === 0) {
      if (this.#by === 'tests') this.tally.count(outcome);
      if (outcome === 'failed') this.#failedHere += 1;
    }
    if (outcome === 'failed') this.#fail(name);
  }

  /** The part that failed stands for the whole that failed because of it. */
  #fail(name: string): void {
    if (this.tally.failures.some((other) => other.startsWith(`${name}/`))) return;
    const whole = name.slice(0, Math.max(name.lastIndexOf('/'), 0));
    if (whole !== '' && this.tally.failures.includes(whole)) this.tally.rename(whole, name);
    else this.tally.fail(name);
  }

  #package(found: RegExpExecArray | null): void {
    if (found === null) return;
    const [, word = '', name = '', why] = found;
    if (why !== undefined && word !== 'FAIL') return;
    this.#believe('loose');
    if (why === undefined && this.#by === undefined) this.#by = 'packages';
    const failed = word === 'FAIL';
    if (failed && this.#failedHere === 0) this.tally.fail(why === undefined ? name : `${name} ${why}`);
    if (this.#by !== 'tests' || (failed && this.#failedHere === 0)) this.tally.count(failed ? 'failed' : 'passed');
    this.#failedHere = 0;
  }

  #event(text: string): void {
    if (!text.includes('"Action":"') || text.includes('"Action":"output"') || text.includes('"Action":"build-')) return;
    const event = parsed(text);
    if (event === undefined) return;
    const { Action: action, Package: name, Test: test, FailedBuild: build } = event;
    if (typeof action !== 'string' || typeof name !== 'string') return;
    const outcome = OUTCOME[action];
    if (action === 'start') this.#open += 1;
    else if (outcome === undefined && action !== 'run') return;
    this.#believe('running');
    this.#byTests();
    if (typeof test === 'string') {
      if (outcome === undefined) return;
      if (!test.includes('/')) this.tally.count(outcome);
      if (outcome !== 'failed') return;
      if (this.#failedIn.size < 1000) this.#failedIn.add(name);
      this.#fail(test);
      return;
    }
    if (outcome !== undefined) this.#open = Math.max(0, this.#open - 1);
    this.#believe(this.#open > 0 ? 'running' : 'loose');
    if (outcome !== 'failed' || this.#failedIn.has(name)) return;
    this.tally.fail(build === undefined ? name : `${name} [build failed]`);
    this.tally.count('failed');
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // Something else that begins like one.
  }
}
