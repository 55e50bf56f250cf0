import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/index.ts';
import { plainResult } from '../../../src/wire/rev2025-11-25/index.ts';
import { schemaProblems } from '../../spec/schemas.ts';
import { result } from '../rev2026-07-28/records.ts';

const text = (value: string) => ({ type: 'text', text: value });

describe('a result of a tool', () => {
  it('is legal, whatever it holds of other revisions [C-009]', () => {
    const withAny = fc.tuple(result, fc.option(fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>));
    fc.assert(
      fc.property(withAny, ([told, structured]) => {
        const given = structured === null ? told : { ...told, structuredContent: structured };
        const plain = JSON.parse(JSON.stringify(plainResult(given))) as JsonObject;
        expect(schemaProblems('core-2025-11-25', 'CallToolResult', plain)).toEqual([]);
        expect(plain).not.toHaveProperty('resultType');
        expect(Object.keys((plain._meta ?? {}) as object).filter((key) => key !== 'example.com/kept')).toEqual([]);
        expect(plain.isError).toBe(told.isError);
      }),
    );
  });

  it('that is legal already stays as it is, to the letter', () => {
    const given = { structuredContent: { a: 1 }, isError: false, content: [text('a')], _meta: { 'x/y': 1 }, extra: 2 };
    expect(JSON.stringify(plainResult(given))).toBe(JSON.stringify(given));
  });

  it.each<[JsonValue, string]>([
    [[1, 2], '[1,2]'],
    ['done', '"done"'],
    [0, '0'],
    [null, 'null'],
  ])('wraps what is no object, and says it in text: %j', (structuredContent, said) => {
    const wrapped = { result: structuredContent };
    const plain = { content: [text('a'), text(said)], structuredContent: wrapped };
    expect(plainResult({ content: [text('a')], structuredContent })).toEqual(plain);
    expect(plainResult({ content: [text(said)], structuredContent })).toEqual({ ...plain, content: [text(said)] });
  });

  it('does not carry stamps of another server, nor what is no _meta', () => {
    const _meta = { 'io.modelcontextprotocol/serverInfo': {}, 'io.modelcontextprotocol/subscriptionId': 4 };
    expect(plainResult({ content: [], _meta })).toEqual({ content: [] });
    expect(plainResult({ content: [], _meta: 'x' })).toEqual({ content: [] });
    expect(plainResult({})).toEqual({ content: [] });
  });
});
