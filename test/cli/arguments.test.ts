import { describe, expect, it } from 'vitest';
import { readValues } from '../../src/cli/calls/arguments.ts';
import type { JsonObject } from '../../src/core/index.ts';

const schema: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 5 },
    to: { type: 'integer', minimum: 1 },
    deep: { type: 'boolean' },
    list: { type: 'array' },
    mode: { enum: ['fast', 'slow'] },
    either: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    named: { $ref: '#/$defs/count' },
    any: {},
  },
  $defs: { count: { type: 'number' } },
  required: ['to'],
  additionalProperties: false,
};
const read = (words: string[], more: { json?: string; stdin?: string } = {}) =>
  readValues({ words, json: more.json, readStdin: async () => more.stdin ?? '' }, schema, 'argument');

describe('arguments of a tool on a command line', () => {
  it('are texts, or JSON where the schema wants something else', async () => {
    const words = ['name=12', 'to=3', 'deep=true', 'list=[1]', 'mode=fast', 'either=null', 'named=1.5', 'any=1'];
    expect(await read(words)).toEqual({
      name: '12',
      to: 3,
      deep: true,
      list: [1],
      mode: 'fast',
      either: null,
      named: 1.5,
      any: '1',
    });
  });

  it('are raw JSON after :=, and an object from --args or the standard input, words over it', async () => {
    expect(await read(['any:={"a":[1]}', 'to=2'], { json: '{"to":1,"name":"x"}' })).toEqual({
      to: 2,
      name: 'x',
      any: { a: [1] },
    });
    expect(await read(['-', 'name=a=b'], { stdin: '{"to":1}' })).toEqual({ to: 1, name: 'a=b' });
  });

  it.each([
    [['to=x'], 'argument "to": expected a whole number, at least 1, got "x"'],
    [['to=0'], 'argument "to": expected a whole number, at least 1, got "0"'],
    [['to:={'], 'argument "to": expected JSON after :=, got "{"'],
    [['to=1', 'to=2'], 'argument "to": given twice'],
    [['to=1', 'name=abcdef'], 'argument "name": expected a text, at most 5 characters, got "abcdef"'],
    [['to=1', 'mode=odd'], 'argument "mode": expected one of "fast", "slow", got "odd"'],
    [['to=1', 'tu=1'], 'argument "tu": there is none of this name; the tool takes name, to'],
    [['to=1', '__proto__=1'], 'argument "__proto__": there is none of this name'],
    [['name=x'], 'argument "to": missing; the tool requires it (a whole number, at least 1)'],
    [['to'], '"to": give arguments as key=value, or key:=JSON'],
  ])('names the argument that is wrong: %j', async (words, message) => {
    await expect(read(words)).rejects.toThrow(message);
  });

  it('names what is no object', async () => {
    await expect(read([], { json: '[1]' })).rejects.toThrow('--args: expected a JSON object');
    await expect(read(['-'], { stdin: '{' })).rejects.toThrow('standard input: expected a JSON object');
  });
});
