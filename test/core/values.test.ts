import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  encodeJson,
  type JsonValue,
  MAX_POLL_INTERVAL_MS,
  MIN_POLL_INTERVAL_MS,
  newTaskId,
  pollIntervalMs,
  questionKey,
  recoveryDecision,
  shortId,
  systemRandom,
  workerLostRule,
} from '../../src/core/index.ts';

describe('encodeJson', () => {
  it('keeps every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // JSON itself knows no negative zero.
        expect(JSON.parse(encodeJson(value, 'value'))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  const cyclic: Record<string, unknown> = {};
  cyclic.self = { cyclic };
  it.each([
    ['a date', { at: new Date(0) }, /"at" is a Date/],
    ['a map', { deep: [new Map()] }, /"deep\[0\]" is a Map/],
    ['a bigint', { n: 1n }, /"n" is a bigint/],
    ['a function', () => 1, /the value is a function/],
    ['NaN', { n: Number.NaN }, /"n" is NaN/],
    ['undefined', undefined, /the value is undefined/],
    ['a cycle', cyclic, /contains itself/],
    ['a class instance', { deep: new (class Order {})() }, /"deep" is a Order/],
  ])('refuses %s and names where it is', (_what, value, message) => {
    expect(() => encodeJson(value, 'step "x"')).toThrow(message);
    expect(() => encodeJson(value, 'step "x"')).toThrow(/^step "x": /);
  });

  it('drops undefined members, as JSON does, and takes shared (not cyclic) objects', () => {
    const shared = { a: 1 };
    expect(encodeJson({ x: undefined, l: shared, r: shared }, 'v')).toBe('{"l":{"a":1},"r":{"a":1}}');
  });
});

describe('canonicalJson', () => {
  it('is equal for equal values, whatever the order of members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).reverse());
        expect(canonicalJson(reversed as JsonValue)).toBe(canonicalJson(object as JsonValue));
      }),
    );
  });
});

describe('task ids', () => {
  it('are random, safe in URLs, headers and shells, and carry 144 random bits [C-059]', () => {
    const ids = new Set(Array.from({ length: 10_000 }, () => newTaskId(systemRandom)));
    expect(ids.size).toBe(10_000);
    for (const id of ids) expect(id).toMatch(/^tsk_[A-Za-z0-9_-]{24}$/);
    const positions = Array.from({ length: 24 }, (_, at) => new Set([...ids].map((id) => id[at + 4])).size);
    expect(Math.min(...positions)).toBeGreaterThan(60); // No position is a counter or a clock.
  });

  it('are cut short for logs', () => {
    expect(shortId('tsk_abcdefghijklmnopqrstuvwx')).toBe('tsk_abcdef…');
  });
});

describe('question keys', () => {
  it('never meet: other names or ordinals, other keys', () => {
    const names = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('a', 'a-2', 'a 2', 'a_2', 'x'.repeat(56), 'x'.repeat(57)),
    );
    fc.assert(
      fc.property(names, fc.integer({ min: 1, max: 999 }), names, fc.integer({ min: 1, max: 999 }), (a, m, b, n) => {
        fc.pre(a !== b || m !== n);
        expect(questionKey(a, m)).not.toBe(questionKey(b, n));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are always usable as keys on the wire, and the plain name where it can be', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 9_999 }), (name, n) => {
        expect(questionKey(name, n)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
    expect(questionKey('merge', 1)).toBe('merge');
    expect(questionKey('merge', 2)).toBe('merge-2');
    expect(questionKey('__proto__', 1)).toBe('__proto__');
  });
});

describe('pollIntervalMs', () => {
  it('rises with age from one second to thirty', () => {
    expect(pollIntervalMs(0)).toBe(MIN_POLL_INTERVAL_MS);
    expect(pollIntervalMs(-5)).toBe(MIN_POLL_INTERVAL_MS);
    expect(pollIntervalMs(60_000)).toBe(6_000);
    expect(pollIntervalMs(86_400_000)).toBe(MAX_POLL_INTERVAL_MS);
    expect(Number.isInteger(pollIntervalMs(12_345.6))).toBe(true);
  });
});

describe('what becomes of a task whose worker was lost', () => {
  const lost = { rule: 'auto', attempt: 1, maxAttempts: 3, hasRecords: false } as const;

  it('fails it when nothing was recorded and nobody said otherwise, naming the option', () => {
    const decision = recoveryDecision(lost);
    expect(decision).toMatchObject({ action: 'fail' });
    expect(decision.action === 'fail' && decision.message).toMatch(/interrupted.*onWorkerLost/);
  });

  it('goes on when something was recorded', () => {
    expect(recoveryDecision({ ...lost, hasRecords: true })).toEqual({ action: 'run_again' });
  });

  it.each(['rerun', 'resume'] as const)('runs it again under %s, until its attempts are used up', (rule) => {
    expect(recoveryDecision({ ...lost, rule, attempt: 2 })).toEqual({ action: 'run_again' });
    expect(recoveryDecision({ ...lost, rule, attempt: 3 })).toMatchObject({
      action: 'fail',
      message: expect.stringMatching(/3 times/),
    });
  });

  it("never runs a 'fail' tool again", () => {
    expect(recoveryDecision({ ...lost, rule: 'fail', hasRecords: true })).toMatchObject({ action: 'fail' });
  });

  it("follows MCP's annotations where the author says nothing", () => {
    expect(workerLostRule(undefined, { readOnlyHint: true, idempotentHint: true })).toBe('rerun');
    expect(workerLostRule(undefined, { readOnlyHint: true })).toBe('auto');
    expect(workerLostRule('fail', { readOnlyHint: true, idempotentHint: true })).toBe('fail');
  });
});
