import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandOf } from '../../../src/adapters/shell/input/command-of.ts';
import { InputError } from '../../../src/adapters/shell/input/input-error.ts';
import type { CommandRecipe, WordPart } from '../../../src/adapters/shell/input/recipe.ts';
import type { JsonObject, JsonValue } from '../../../src/core/index.ts';

const recipe = (args: readonly WordPart[], own: Partial<CommandRecipe> = {}): CommandRecipe => {
  return { file: 'run', args, env: {}, ...own };
};
const words = (args: readonly WordPart[], input: JsonObject, own: Partial<CommandRecipe> = {}): readonly string[] =>
  commandOf(recipe(args, own), input).args;
const problem = (made: () => unknown): string => {
  try {
    made();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return 'none';
};

describe('the words of a command', () => {
  it('are those of the recipe, with values where places are left for them', () => {
    const parts: WordPart[] = [
      'run',
      { input: 'bail', flag: '--bail' },
      { input: 'grep', option: '--grep' },
      { input: 'jobs', option: '-j', join: '' },
      { input: 'define', option: '--define', join: '=' },
      'last',
      { input: 'files' },
    ];
    const input = { bail: true, grep: 'a b', jobs: 4, define: ['a=1', '-b'], files: ['x.ts', 'y z'] };
    expect(words(parts, input)).toEqual([
      ...['run', '--bail', '--grep', 'a b', '-j4', '--define=a=1', '--define=-b', 'last', '--', 'x.ts', 'y z'],
    ]);
    expect(words(parts, {})).toEqual(['run', 'last']);
    expect(words(parts, { bail: false, grep: null, files: [], define: [] })).toEqual(['run', 'last']);
  });

  it('repeat an option for each item of a list, and take numbers, true and false', () => {
    expect(words([{ input: 'x', option: '-x' }], { x: ['a', 2, false] })).toEqual([
      '-x',
      'a',
      '-x',
      '2',
      '-x',
      'false',
    ]);
    expect(words([{ input: 'n' }], { n: 1.5 })).toEqual(['--', '1.5']);
    expect(words([{ input: 'x' }], { x: '' })).toEqual(['--', '']);
  });

  it('end options once, before the first value that stands alone, unless the recipe does', () => {
    expect(words(['a', { input: 'x' }, 'b', { input: 'y' }], { x: '1', y: '2' })).toEqual(['a', '--', '1', 'b', '2']);
    expect(words(['--', 'a', { input: 'x' }], { x: '1' })).toEqual(['--', 'a', '1']);
    expect(words([{ input: 'x' }, { input: 'y' }], { y: '2' })).toEqual(['--', '2']);
    expect(words(['a', { input: 'x' }], { x: '1' }, { endOfOptions: false })).toEqual(['a', '1']);
  });

  it('begin with a dash only where that was allowed', () => {
    const refused = 'expected a value that does not begin with "-", which could be read as an option';
    expect(problem(() => words([{ input: 'x' }], { x: '-rf' }))).toBe(`x: ${refused}`);
    expect(problem(() => words([{ input: 'x' }], { x: -1 }))).toBe(`x: ${refused}`);
    expect(problem(() => words([{ input: 'x' }], { x: ['a', '--'] }))).toBe(`x.1: ${refused}`);
    expect(problem(() => words([{ input: 'x', option: '-x' }], { x: ['a', '-b'] }))).toBe(`x.1: ${refused}`);
    expect(words([{ input: 'x', dash: true }], { x: -1 })).toEqual(['--', '-1']);
    expect(words([{ input: 'x', option: '-x', dash: true }], { x: '-b' })).toEqual(['-x', '-b']);
  });

  it.each<[WordPart, JsonValue, string]>([
    [{ input: 'x' }, true, 'x: expected a text, a number, or a list of those'],
    [{ input: 'x' }, { a: 1 }, 'x: expected a text, a number, or a list of those'],
    [{ input: 'x' }, ['a', ['b']], 'x.1: expected a text, a number, or a list of those'],
    [{ input: 'x', flag: '-x' }, 'true', 'x: expected true or false'],
    [{ input: 'x' }, 'a\0b', 'x: expected a text without a NUL character'],
    [{ input: 'x', option: '-x', join: '=' }, ['a\0b'], 'x.0: expected a text without a NUL character'],
  ])('are refused where a value cannot be one: %j from %j', (part, value, message) => {
    expect(problem(() => words([part], { x: value }))).toBe(message);
  });

  it('are of the input itself, never of what all objects have', () => {
    const names = ['constructor', 'toString', '__proto__'];
    expect(
      words(
        names.map((input) => ({ input })),
        {},
      ),
    ).toEqual([]);
  });
});

describe('the environment and stdin of a command', () => {
  it('are filled in from the input: texts as they are, the rest as JSON', () => {
    const env = {
      CI: '1',
      LABEL: { input: 'label' },
      N: { input: 'n' },
      LIST: { input: 'list' },
      NONE: { input: 'none' },
    };
    const input = { label: '-a $HOME `b`\n', n: 5, list: ['x', { y: 1 }] };
    const made = commandOf(recipe([], { env, stdin: { input: 'list' }, cwd: '/work' }), input);
    expect(made.env).toEqual({ CI: '1', LABEL: '-a $HOME `b`\n', N: '5', LIST: '["x",{"y":1}]' });
    expect([made.cwd, made.stdin]).toEqual(['/work', '["x",{"y":1}]']);
    expect(commandOf(recipe([], { stdin: { input: 'none' } }), input).stdin).toBeUndefined();
    expect(problem(() => commandOf(recipe([], { env: { A: { input: 'a' } } }), { a: '\0' }))).toBe(
      'a: expected a text without a NUL character',
    );
  });

  it('take a text of any length on stdin, and of no more than a system takes elsewhere', () => {
    const long = 'x'.repeat(200_000);
    expect(commandOf(recipe([], { stdin: { input: 'x' } }), { x: long }).stdin).toHaveLength(200_000);
    expect(problem(() => words([{ input: 'x' }], { x: long }))).toBe(
      'x: expected at most 131071 bytes in a word, got 200000; what is large goes through stdin or a file',
    );
    expect(problem(() => commandOf(recipe([], { env: { A: { input: 'x' } } }), { x: 'ä'.repeat(65_536) }))).toContain(
      'x: expected at most 131071 bytes in a word, got 131074',
    );
    const many = Array.from({ length: 100 }, () => 'y'.repeat(10_000));
    expect(problem(() => words([{ input: 'a' }, { input: 'many' }], { a: 'a', many }))).toMatch(
      /^many: the command and its environment would have 100\d{4} bytes, expected at most 786432; what/,
    );
  });

  it.runIf(process.platform === 'linux')('takes at most what the system takes', () => {
    const x = Array.from({ length: 5 }, () => 'x'.repeat(131_071));
    const { args } = commandOf(recipe(['-e', '', { input: 'x' }]), { x });
    const { status, error } = spawnSync(process.execPath, args, { env: {} });
    expect([status, error]).toEqual([0, undefined]);
  });
});

describe('whatever the input', () => {
  // Words of the recipe are told from those of the input by how they begin.
  const literal = fc.constantFrom('lit:a', 'lit:-b', 'lit:c d', '--lit:e');
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const part = fc.oneof<fc.Arbitrary<WordPart>[]>(
    literal,
    name.map((input) => ({ input })),
    name.map((input) => ({ input, flag: `--flag:${input}` })),
    name.map((input) => ({ input, option: `--opt:${input}` })),
    name.map((input) => ({ input, option: `--opt:${input}`, join: '=' })),
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '-',
      '--',
      '-rf',
      '--lit:e',
      '--flag:a',
      '--opt:a',
      '--opt:a=x',
      'lit:a',
      '$(a)',
      '; b',
      '',
      '\0',
      '\u2212x',
    ),
  );
  const scalar = fc.oneof(text, fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 4 }), fc.constant(null), fc.constant({ x: '-y' }));
  const input = fc.dictionary(name, value) as fc.Arbitrary<JsonObject>;
  const isOurs = (word: string): boolean => /^(lit:|--lit:|--flag:|--opt:)/.test(word) || word === '--';

  it('no word of it begins with a dash, and the words of the recipe stay in their order', () => {
    let made = 0;
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), input, fc.boolean(), (parts, given, endOfOptions) => {
        let args: readonly string[];
        try {
          ({ args } = commandOf(recipe(parts, { endOfOptions }), given));
        } catch (error) {
          expect(error).toBeInstanceOf(InputError);
          expect(Object.keys(given)).toContain((error as InputError).field.replace(/\.\d+$/, ''));
          return;
        }
        made += 1;
        const written = parts.filter((one) => typeof one === 'string');
        const inputs = (one: string) =>
          Object.values(given)
            .flat()
            .filter((some) => some === one).length;
        // Values may well be equal to literals that begin with no dash; those that begin with one are the recipe's alone.
        expect(args.filter((word) => word.startsWith('--lit:'))).toEqual(
          written.filter((word) => word.startsWith('--')),
        );
        for (const word of args.filter((one) => one.startsWith('-'))) expect(isOurs(word)).toBe(true);
        const ours = args.filter((word) => word.startsWith('lit:'));
        if (inputs('lit:a') === 0) expect(ours).toEqual(written.filter((word) => word.startsWith('lit:')));
        for (const one of ['a', 'b', 'c', 'd']) {
          const flags = parts.filter((some) => typeof some !== 'string' && 'flag' in some && some.input === one);
          const expected = given[one] === true ? flags.length : 0;
          expect(args.filter((word) => word === `--flag:${one}`)).toHaveLength(expected);
        }
        expect(args.filter((word) => word === '--').length).toBeLessThanOrEqual(endOfOptions ? 1 : 0);
      }),
      { numRuns: 3_000 },
    );
    expect(made).toBeGreaterThan(300);
  });

  it('a value is one word, as it is, however it looks to a shell', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (given) => {
        fc.pre(!given.startsWith('-') && !given.includes('\0'));
        const parts: WordPart[] = [
          'a',
          { input: 'x', option: '-x' },
          { input: 'x', option: '-y', join: '=' },
          { input: 'x' },
        ];
        expect(words(parts, { x: given })).toEqual(['a', '-x', given, `-y=${given}`, '--', given]);
      }),
    );
  });
});
