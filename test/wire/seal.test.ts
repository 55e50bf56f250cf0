import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Seal } from '../../src/wire/seal.ts';

const secret = (byte: number) => new Uint8Array(32).fill(byte);
const seal = new Seal(secret(1));
const binding = fc.array(fc.string(), { maxLength: 3 });

describe('a sealed token', () => {
  it('opens to what went in, and is safe in a URL', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), binding, (text, boundTo) => {
        const token = seal.close(text, boundTo);
        expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(seal.open(token, boundTo)).toBe(text);
      }),
    );
  });

  it('opens for nothing but what it is bound to', () => {
    fc.assert(
      fc.property(fc.string(), binding, binding, (text, one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(seal.open(seal.close(text, one), other)).toBeUndefined();
      }),
    );
  });

  it.each([
    [
      ['a', 'bc'],
      ['ab', 'c'],
    ],
    [['a'], ['a', '']],
    [['a\0'], ['a', '\0']],
  ])('does not take %j for %j', (one, other) => {
    expect(seal.open(seal.close('x', one), other)).toBeUndefined();
  });

  it('opens on every process with the secret, is the same there, and opens with no other secret', () => {
    const token = seal.close('place', ['list']);
    expect(new Seal(secret(1)).close('place', ['list'])).toBe(token);
    expect(new Seal(secret(1)).open(token, ['list'])).toBe('place');
    expect(new Seal(secret(2)).open(token, ['list'])).toBeUndefined();
  });

  it('does not open once a bit of it is changed, or it is cut or grown', () => {
    const token = seal.close('[1767225600000,"tsk_abc"]', ['list', 'ada']);
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(seal.open(changed.toString('base64url'), ['list', 'ada'])).toBeUndefined();
    }
    for (const other of [token.slice(0, -1), token.slice(1), `${token}A`, `${token}=`, `${token}\n`, '', 'x', '%%%']) {
      expect(seal.open(other, ['list', 'ada'])).toBeUndefined();
    }
  });

  it('shows nothing of what is in it, nor whether two begin alike', () => {
    const token = seal.close('[1767225600000,"tsk_abc"]', ['list']);
    const other = seal.close('[1767225600000,"tsk_abd"]', ['list']);
    expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/tsk|1767/);
    expect(token.slice(0, 8)).not.toBe(other.slice(0, 8));
    expect(token.slice(24, 32)).not.toBe(other.slice(24, 32));
  });

  it('that anybody makes up never opens, and nothing throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), binding, (token, boundTo) => {
        expect(seal.open(token, boundTo)).toBeUndefined();
      }),
    );
    expect(seal.open('A'.repeat(1_000_000), [])).toBeUndefined();
  });

  it('wants a secret worth the name', () => {
    expect(() => new Seal(new Uint8Array(31))).toThrow(
      new RangeError('seal: the secret must have at least 32 bytes, got 31'),
    );
  });
});
