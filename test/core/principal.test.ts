import { expect, it } from 'vitest';
import { principalKey } from '../../src/core/index.ts';

it('gives the same key to the same principal, with or without an empty tenant', () => {
  expect(principalKey({ subject: 'ada' })).toBe(principalKey({ tenant: '', subject: 'ada' }));
});

it('gives no two principals the same key, whatever their names contain', () => {
  const principals = [
    { subject: 'a|b' },
    { tenant: 'a', subject: 'b' },
    { tenant: 'a|b', subject: 'c' },
    { tenant: 'a', subject: 'b|c' },
    { subject: '["a","b"]' },
  ];
  expect(new Set(principals.map(principalKey)).size).toBe(principals.length);
});
