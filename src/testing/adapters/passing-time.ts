import assert from 'node:assert/strict';
import { type Clock, systemClock } from '../../core/index.ts';
import { ManualClock } from '../manual-clock.ts';
import type { AdapterHarness } from './system.ts';

const STEP_MS = 100;
/** So much happens in between: promises, a store's group commits, sockets of this machine. */
const TURNS = 6;
/** After so many steps it is something in another process that is waited for, which needs this machine too. */
const QUICK_STEPS = 20;
const SLOW_STEP_MS = 3;
const LONG_STEP_MS = 500;
const REAL_STEP_MS = 10;
const PATIENCE_MS = 20_000;

/** Time as a case lets it pass while it waits: moved in small steps, or really. */
export class PassingTime {
  readonly clock: Clock;
  readonly patienceMs: number;
  readonly #manual: ManualClock | undefined;

  constructor({ time = 'manual', patienceMs = PATIENCE_MS }: Pick<AdapterHarness, 'time' | 'patienceMs'>) {
    this.#manual = time === 'manual' ? new ManualClock() : undefined;
    this.clock = this.#manual ?? systemClock;
    this.patienceMs = patienceMs;
  }

  get isReal(): boolean {
    return this.#manual === undefined;
  }

  /** @param waited how many steps it is waited for the same already */
  async step(waited = 0): Promise<void> {
    if (this.#manual === undefined) return really(REAL_STEP_MS);
    this.#manual.advance(waited > QUICK_STEPS ? LONG_STEP_MS : STEP_MS);
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    if (waited > QUICK_STEPS) await really(SLOW_STEP_MS);
  }

  /** Lets time pass until it settles. @throws what it rejects with; that it takes too long */
  async during<Value>(what: string, work: () => Value | Promise<Value>): Promise<Value> {
    let settled = false;
    const running = (async () => work())().finally(() => {
      settled = true;
    });
    running.catch(() => {}); // Thrown below, or given up.
    const deadline = performance.now() + this.patienceMs;
    await new Promise((resolve) => setImmediate(resolve));
    for (let waited = 0; !settled; waited += 1) {
      assert.ok(performance.now() < deadline, `${what}: did not come to an end within ${this.patienceMs} ms`);
      await this.step(waited);
    }
    return running;
  }

  /** Looks again and again until there is something. A look that throws cannot tell yet, unless it is an assertion that does not hold. */
  async until<Value>(
    what: string,
    look: () => Value | false | undefined | Promise<Value | false | undefined>,
    seen: () => unknown = () => '',
  ): Promise<Value> {
    const deadline = performance.now() + this.patienceMs;
    let trouble: unknown;
    for (let waited = 0; ; waited += 1) {
      try {
        const value = await this.during(what, look);
        if (value !== false && value !== undefined) return value;
        trouble = undefined;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        trouble = error;
      }
      if (performance.now() >= deadline) {
        const last = trouble === undefined ? shown(seen()) : shown(trouble);
        assert.fail(`${what}: not within ${this.patienceMs} ms; ${last}`);
      }
      await this.step(waited);
    }
  }
}

function shown(value: unknown): string {
  if (value instanceof Error) return `it threw ${value.message}`;
  return value === '' ? 'it never came' : `seen last: ${JSON.stringify(value)}`;
}

function really(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
