import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelopeOf, withId } from '../../../src/gateway/daemon/envelope.ts';

const parts = fc.record(
  {
    jsonrpc: fc.constant('2.0'),
    params: fc.jsonValue(),
    id: fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
    method: fc.string(),
    result: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
/** The same object, with its members in any order and any white space. */
const lines = fc
  .tuple(parts, fc.array(fc.nat()), fc.constantFrom(undefined, 1, '\t'))
  .map(([message, order, indent]) => {
    const entries = Object.entries(message).sort(
      (one, other) => (order[one[0].length] ?? 0) - (order[other[0].length] ?? 0),
    );
    return `${JSON.stringify(Object.fromEntries(entries), null, indent)}\n`;
  });
const idOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : undefined;

describe('the outside of a message', () => {
  it('is read as the whole message would be', () => {
    fc.assert(
      fc.property(lines, (line) => {
        const { id, method } = JSON.parse(line) as { id?: unknown; method?: unknown };
        const envelope = envelopeOf(Buffer.from(line));
        expect(envelope?.id?.text).toBe(idOf(id));
        expect(envelope?.method).toBe(method);
      }),
      { numRuns: 2_000 },
    );
  });

  it('takes another id and changes nothing else', () => {
    fc.assert(
      fc.property(lines, (line) => {
        const before = envelopeOf(Buffer.from(line));
        if (before?.id === undefined) return;
        const after = withId(Buffer.from(line), before.id, '"another"').toString('utf8');
        expect(JSON.parse(after)).toEqual({ ...JSON.parse(line), id: 'another' });
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '',
    '\n',
    '[]',
    '"id"',
    '{',
    '{"id"',
    '{"id":',
    '{"id":1',
    '{"id":1 "a":2}',
    '{id:1}',
    '{"a":}',
    'null',
    '{"a":"\\',
  ])('is none where there is no message: %s', (line) => expect(envelopeOf(Buffer.from(line))).toBeUndefined());

  it('counts the last of several, as JSON does, and those in it not at all', () => {
    const line = '{"id":1,"params":{"id":2,"method":"inner"},"\\u0069d":"x","method":"outer"}';
    expect(envelopeOf(Buffer.from(line))).toMatchObject({ id: { text: '"x"' }, method: 'outer' });
  });
});
