import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseConfig } from '../../../src/gateway/config/load.ts';
import { ConfigError } from '../../../src/gateway/config/problems.ts';
import { configSchema } from '../../../src/gateway/config/schema.ts';
import { matchPolicy } from '../../../src/gateway/policy.ts';
import { complete, TOKEN } from './corpus.ts';

const around = { env: { CI_TOKEN: TOKEN, GITHUB_TOKEN: 'ghp_1' }, folder: import.meta.dirname };
const polluted = () => Object.keys(Object.prototype).length > 0 || 'polluted' in {};

/** Reads it; whatever it is, it is a configuration or errors that have a place in the text. */
function read(text: string): void {
  const lines = text.split('\n').length;
  try {
    for (const upstream of parseConfig(text, 'f', around).config.upstreams) matchPolicy(upstream, 'tool');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.problems.length).toBeGreaterThan(0);
    for (const { line, column, message } of error.problems) {
      expect(line).toBeGreaterThanOrEqual(1);
      expect(line).toBeLessThanOrEqual(lines + 1);
      expect(column).toBeGreaterThanOrEqual(1);
      expect(message).not.toBe('');
    }
  }
  expect(polluted()).toBe(false);
}

const words = [...new Set([...configSchema().matchAll(/"(\w+)": \{/g)].map(([, word = '']) => word))];
const hostile = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '<<',
  '',
  '0',
  'a/b',
  'a~b',
  '*',
];
const key = fc.oneof(fc.constantFrom(...words), fc.constantFrom(...hostile), fc.string());
const scalar = fc.oneof(
  fc.constantFrom(null, true, 0, -1, 1.5, 7717, 'task', 'auto', '10s', '7d', 'forever', '4MiB', 'a', 'npx -y x'),
  fc.constantFrom('http://x/', '$'.concat('{env:CI_TOKEN}'), '$'.concat('{file:.}'), '$'.concat('{'), '\0'),
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true }),
);
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc
      .uniqueArray(fc.tuple(key, tie('tree')), { maxLength: 5, selector: ([name]) => name })
      .map((entries) => new Map(entries)),
  ),
}));

const ANYTHING = { properties: { a: { type: 'string' }, task: { type: 'boolean' } } };

describe('whatever is in the file', () => {
  it('is read or told: any text', () => {
    const pieces = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...':-?[]{}&*!|>%@`#,"\'\n\t ~<', '\n  ', '--- ', '...', '*a', '&a '),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => read(parts.join(''))),
      { numRuns: 2_000 },
    );
  });

  it('is read or told: any tree of the words that mean something', () => {
    const upstream = fc.uniqueArray(fc.tuple(key, tree), { maxLength: 8, selector: ([name]) => name });
    const file = fc.oneof(
      tree,
      upstream.map((members) => ({ upstreams: { a: new Map<string, unknown>([['command', 'a'], ...members]) } })),
      upstream.map((members) => ({ shell: { a: new Map<string, unknown>([['command', 'a'], ...members]) } })),
      tree.map((input) => ({ shell: { a: { command: ['a', { input: 'a' }], input } } })),
      fc
        .array(tree, { maxLength: 3 })
        .map((words) => ({ shell: { a: { command: ['a', ...words], input: ANYTHING } } })),
      fc.tuple(key, tree).map(
        ([name, value]) =>
          new Map<string, unknown>([
            ['upstreams', { a: { command: 'a' } }],
            [name, value],
          ]),
      ),
    );
    fc.assert(
      fc.property(file, (value) => read(stringify(value))),
      { numRuns: 2_000 },
    );
  });

  it('is read or told: a good file with something cut out, doubled or put in', () => {
    const at = fc.nat(complete.length);
    fc.assert(
      fc.property(
        at,
        at,
        fc.oneof(fc.constant(''), fc.constantFrom('*a', '&a ', ': ', '\n', '}', '- ', '"'), fc.string()),
        (from, to, put) => {
          read(complete.slice(0, from) + put + complete.slice(to));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('puts nothing where all objects would have it', () => {
    const payload = '{ polluted: true, command: a }';
    for (const name of ['__proto__', 'constructor', '"constructor": { prototype: { polluted: 1 } }, "a"']) {
      read(`${name}: ${payload}\nupstreams: { a: { command: a } }`);
      read(`upstreams: { ${name}: ${payload}, a: ${payload} }`);
      read(`upstreams: { a: { command: a, ${name}: ${payload}, fallback: { ${name}: ${payload} } } }`);
    }
    const text =
      'upstreams: { constructor: { command: a, env: { __proto__: x }, tools: { __proto__: { mode: direct } } } }';
    const [upstream] = parseConfig(text, 'f', around).config.upstreams;
    expect(Object.entries((upstream!.target as { env: object }).env)).toEqual([['__proto__', 'x']]);
    expect(matchPolicy(upstream!, '__proto__').mode).toBe('direct');
    expect(matchPolicy(upstream!, 'constructor').mode).toBe('task');
    expect(polluted()).toBe(false);
  });

  it('never tells the value of a secret', () => {
    const secret = 'zq9Xv7secretW';
    const env = { CI_TOKEN: secret, GITHUB_TOKEN: secret };
    const broken = fc.constantFrom(
      'mode: task',
      'mode: tusk',
      'timeout: 1',
      'url: x',
      'args: x',
      'prefix: "é"',
      'cwd: 5',
      'x: 1',
    );
    const place = fc.constantFrom(
      `env: { TOKEN: "${secret}" }`,
      `env: { TOKEN: ["${secret}"] }`,
      `env: ["TOKEN=${secret}"]`,
      `headers: { Authorization: "Bearer ${secret}" }`,
      `args: { "--token": ${secret} }`,
      `url: "https://u:${secret}@x/"`,
      `url: "https://x/?token=${secret}"`,
      `url: "${secret}"`,
      `command: [a, { input: x, flag: ["${secret}"] }, ["${secret}"]]`,
      'env: { A: "$'.concat('{env:CI_TOKEN}", B: "$', '{env:NOPE}" }'),
      'url: "http://$'.concat('{env:GITHUB_TOKEN}@x"'),
    );
    fc.assert(
      fc.property(broken, place, fc.boolean(), (other, written, cut) => {
        const text = `upstreams: { a: { ${other}, ${written} } }${cut ? '' : ' }'}`;
        let message = '';
        try {
          parseConfig(text.slice(0, cut ? -3 : undefined), 'f', { ...around, env });
        } catch (error) {
          message = String(error) + JSON.stringify((error as ConfigError).problems);
        }
        expect(message).not.toBe('');
        expect(message).not.toContain(secret);
      }),
    );
  });
});
