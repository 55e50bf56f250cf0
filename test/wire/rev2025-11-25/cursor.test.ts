import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS_PRINCIPAL, type Principal } from '../../../src/core/index.ts';
import { decodeCursor, encodeCursor, invalidParams } from '../../../src/wire/rev2025-11-25/index.ts';
import { Seal } from '../../../src/wire/seal.ts';

const seal = new Seal(new Uint8Array(32).fill(7));
const ada: Principal = { subject: 'ada' };
const refusal = {
  ok: false,
  message: 'params.cursor: not a cursor that an earlier page of this list gave; begin without one',
};
/** What our stores give: a place between tasks, which may be those of anybody. */
const position = Buffer.from('[1767225600000,"tsk_of-somebody-else"]').toString('base64url');

describe('a cursor', () => {
  it('leads back to the place it stands for, on every process [G2-S-42]', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.option(fc.string()), (place, subject, tenant) => {
        const principal = { subject, ...(tenant !== null && { tenant }) };
        const cursor = encodeCursor(place, principal, seal);
        const elsewhere = new Seal(new Uint8Array(32).fill(7));
        expect(decodeCursor({ cursor }, principal, elsewhere)).toEqual({ ok: true, value: place });
        expect(encodeCursor(place, principal, elsewhere)).toBe(cursor);
      }),
    );
  });

  it('is not needed for the first page', () => {
    for (const params of [undefined, {}, { cursor: undefined }, { _meta: {} }]) {
      expect(decodeCursor(params, ada, seal)).toEqual({ ok: true, value: undefined });
    }
  });

  it.each<[whose: string, principal: Principal]>([
    ['another subject', { subject: 'bob' }],
    ['the same subject of another tenant', { tenant: 't', subject: 'ada' }],
    ['nobody', ANONYMOUS_PRINCIPAL],
  ])('of one principal is none of %s [G2-S-50]', (_, principal) => {
    expect(decodeCursor({ cursor: encodeCursor(position, ada, seal) }, principal, seal)).toEqual(refusal);
  });

  it('shows nothing of what the store put in it', () => {
    const cursor = encodeCursor(position, ada, seal);
    const shown = Buffer.from(cursor, 'base64url').toString('latin1');
    for (const part of [position, 'tsk_', '1767225600000', 'ada']) {
      expect(cursor).not.toContain(part);
      expect(shown).not.toContain(part);
    }
  });

  it.each([[''], ['x'], [position], [null], [5], [{}], ['tsk_abc'], ['A'.repeat(100_000)]])(
    'that no page gave is refused, in one way: %j [G2-S-50] [G2-S-52]',
    (cursor) => {
      expect(decodeCursor({ cursor }, ada, seal)).toEqual(refusal);
      expect(invalidParams(refusal.message).code).toBe(-32602);
    },
  );

  it('of another store is refused', () => {
    const other = new Seal(new Uint8Array(32).fill(8));
    expect(decodeCursor({ cursor: encodeCursor(position, ada, other) }, ada, seal)).toEqual(refusal);
  });
});
