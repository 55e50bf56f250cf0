import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolPolicy, UpstreamConfig } from '../../src/gateway/config/types.ts';
import { isAllowed, matchPolicy } from '../../src/gateway/policy.ts';

function upstream(rest: Partial<UpstreamConfig> & { rules?: Record<string, ToolPolicy> } = {}): UpstreamConfig {
  const { rules = {}, ...said } = rest;
  return {
    name: 'ci',
    target: { command: 'ci', args: [], env: {} },
    prefix: '',
    policy: {},
    tools: Object.entries(rules).map(([match, policy]) => ({ match, policy })),
    ...said,
  };
}

const defaults = { mode: 'task', slowAfterMs: 10_000, onLost: 'fail', maxAttempts: 3, support: 'optional' };

describe('the policy of a tool', () => {
  it('is the default where nothing is said', () => {
    expect(matchPolicy(upstream(), 'run')).toEqual(defaults);
  });

  it.each([
    [{ readOnlyHint: true, idempotentHint: true }, 'rerun'],
    [{ readOnlyHint: true }, 'fail'],
    [{ idempotentHint: true }, 'fail'],
    [{ readOnlyHint: false, idempotentHint: true }, 'fail'],
  ] as const)('makes a lost call again by itself only where that is harmless: %o', (annotations, onLost) => {
    expect(matchPolicy(upstream(), 'run', annotations).onLost).toBe(onLost);
    expect(matchPolicy(upstream({ policy: { onLost: 'fail' } }), 'run', annotations).onLost).toBe('fail');
    expect(matchPolicy(upstream({ rules: { run: { onLost: 'rerun' } } }), 'run', annotations).onLost).toBe('rerun');
  });

  const rules = {
    '*': { mode: 'direct', timeoutMs: 1 },
    'read_*': { mode: 'auto', timeoutMs: 2 },
    read_file: { ttlMs: null },
    'read_f*': { timeoutMs: 3 },
    '*_file': { timeoutMs: 4, concurrency: 4 },
  } as const;
  it.each([
    ['run', { mode: 'direct', timeoutMs: 1 }],
    ['read_', { mode: 'auto', timeoutMs: 2 }],
    ['read_folder', { mode: 'auto', timeoutMs: 3 }],
    ['read_file', { mode: 'auto', timeoutMs: 3, ttlMs: null, concurrency: 4 }],
    ['write_file', { mode: 'direct', timeoutMs: 4, concurrency: 4 }],
  ])('of %s takes a name before a pattern, and a longer pattern before a shorter', (tool, expected) => {
    const said = upstream({ policy: { mode: 'task', maxAttempts: 9, timeoutMs: 0 }, rules });
    expect(matchPolicy(said, tool)).toEqual({ ...defaults, maxAttempts: 9, ...expected });
    const reversed = { ...said, tools: [...said.tools].reverse() };
    expect(matchPolicy(reversed, tool)).toEqual(matchPolicy(said, tool));
  });

  it('takes of two patterns as long as each other the first', () => {
    expect(
      matchPolicy(upstream({ rules: { 'ab*': { timeoutMs: 1 }, '*cd': { timeoutMs: 2 } } }), 'abcd').timeoutMs,
    ).toBe(1);
    expect(
      matchPolicy(upstream({ rules: { '*cd': { timeoutMs: 2 }, 'ab*': { timeoutMs: 1 } } }), 'abcd').timeoutMs,
    ).toBe(2);
  });

  it('puts the parts of a fallback together', () => {
    const said = upstream({
      policy: { fallback: { mode: 'block', maxBlockMs: 1 } },
      rules: { run: { fallback: { maxBlockMs: 2, detachAfterMs: 3 } } },
    });
    expect(matchPolicy(said, 'run').fallback).toEqual({ mode: 'block', maxBlockMs: 2, detachAfterMs: 3 });
    expect(matchPolicy(said, 'other').fallback).toEqual({ mode: 'block', maxBlockMs: 1 });
    expect(said.policy.fallback).toEqual({ mode: 'block', maxBlockMs: 1 });
  });
});

describe('whether a tool is allowed', () => {
  it.each([
    [undefined, undefined, 'run', true],
    [[], undefined, 'run', false],
    [['run'], undefined, 'run', true],
    [['run'], undefined, 'runner', false],
    [['run'], undefined, 'Run', false],
    [['*'], undefined, '', true],
    [['read_*', 'list_*'], undefined, 'list_files', true],
    [['read_*'], undefined, 'spread_x', false],
    [['a*b*c'], undefined, 'abc', true],
    [['a*b*c'], undefined, 'axxbxxc', true],
    [['a*b*c'], undefined, 'acb', false],
    [['ab*ba'], undefined, 'aba', false],
    [['a**a'], undefined, 'aa', true],
    [['a.c'], undefined, 'abc', false],
    [undefined, ['delete_*'], 'delete_all', false],
    [undefined, ['delete_*'], 'undelete_all', true],
    [['delete_one'], ['delete_*'], 'delete_one', false],
  ])('allow %j, deny %j, %s: %s', (allow, deny, tool, expected) => {
    const said = upstream({ ...(allow !== undefined && { allow }), ...(deny !== undefined && { deny }) });
    expect(isAllowed(said, tool)).toBe(expected);
  });

  it('is what a regular expression would say', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    fc.assert(
      fc.property(word, name, (glob, tool) => {
        const expected = new RegExp(`^${glob.replaceAll('*', '.*')}$`, 's').test(tool);
        expect(isAllowed(upstream({ allow: [glob] }), tool)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes no time over names that are made to take it', () => {
    expect(isAllowed(upstream({ allow: [`${'*a'.repeat(40)}*b`] }), 'a'.repeat(100_000))).toBe(false);
  });
});
