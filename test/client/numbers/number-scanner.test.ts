import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isChanged, NumberScanner } from '../../../src/client/numbers/number-scanner.ts';

function finds(text: string, form: 'json' | 'events' = 'json', cuts: readonly number[] = []): boolean {
  const bytes = Buffer.from(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  const scanner = new NumberScanner(form);
  for (const [at, place] of places.slice(1).entries()) scanner.push(bytes.subarray(places[at], place));
  scanner.end();
  return scanner.found;
}

const CHANGED = ['9007199254740993', '-9007199254740993', '12345678901234567890', '1e400', '-1E+309', '1e-400'];
const MORE = ['18446744073709551616', '0.12345678901234567890', '1234567890.1234567890', `1${'0'.repeat(400)}1`];
const KEPT = [
  '0',
  '-0',
  '1.0',
  '1.50',
  '9007199254740991',
  '9007199254740992',
  '1e22',
  '1E+2',
  '100000000000000000000',
];
const AS_WELL = [
  '0.1',
  '0.30000000000000004',
  '1.7976931348623157e308',
  '5e-324',
  '123456789012345',
  '0e999',
  '2.50e-10',
];

describe('numbers that JavaScript changes [C-079]', () => {
  it.each([...CHANGED, ...MORE])('are told: %s', (number) => {
    expect(isChanged(number)).toBe(true);
    for (const json of [number, `{"a":${number}}`, `[1, ${number} ]`, `{"b":{"c":[true,${number}]}}`]) {
      expect([json, finds(json)]).toEqual([json, true]);
    }
  });

  it.each([...KEPT, ...AS_WELL])('are no others: %s', (number) => {
    expect([isChanged(number), finds(`{"a":[${number},null]}`)]).toEqual([false, false]);
  });

  it('are not those that only look like numbers: in texts, and in names', () => {
    for (const text of ['9007199254740993', 'say "9007199254740993"', '\\', '\\" 1e400', 'é 1e400 \u2028']) {
      const json = JSON.stringify({ [text]: [text, `${text}\\`], last: 1 });
      expect([json, finds(json)]).toEqual([json, false]);
      expect(finds(json.replace(/1}$/, '1e400}'))).toBe(true);
    }
  });

  it('are found in whatever pieces they come', () => {
    const some = fc.jsonValue();
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    fc.assert(
      fc.property(some, fc.constantFrom(...CHANGED), cuts, (value, number, places) => {
        const json = JSON.stringify({ value, last: 'X', '"\\"': [value] });
        expect(finds(json, 'json', places)).toBe(false);
        expect(finds(json.replace('"X"', number), 'json', places)).toBe(true);
        const events = `event: message\r\nid: 12345678901234567890\ndata: ${json}\r\n\r\n: 1e400\n`;
        expect(finds(events, 'events', places)).toBe(false);
        expect(finds(`${events}data:{"a":${number}}\n\n`, 'events', places)).toBe(true);
      }),
    );
  });
});
