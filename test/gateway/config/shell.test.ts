// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the file, none of JavaScript's
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/gateway/config/load.ts';
import type { GatewayConfig } from '../../../src/gateway/config/types.ts';
import { problemsOf } from './told.ts';

const env = { PATH: '/bin', HOME: '/home/me', GITHUB_TOKEN: 'ghp_1234', OTHER: 'plain', CARGO_TOKEN: 's3cr3t' };
const load = (text: string) => parseConfig(text, 'longcall.yaml', { env, folder: '/etc/longcall' });
const tools = (text: string): NonNullable<GatewayConfig['shell']> => load(text).config.shell ?? [];

const told = (text: string): string[] => problemsOf(() => load(text));

/** A tool `a` with these properties of its input, and these members. */
const tool = (properties: string, ...lines: string[]): string =>
  ['shell:', '  a:', `    input: { properties: { ${properties} } }`, ...lines.map((line) => `    ${line}`)].join('\n');

describe('commands in a configuration', () => {
  it('need no upstream, and little else', () => {
    const { config, secrets } = load('shell: { a: { command: make } }');
    expect(secrets).toEqual([]);
    expect(config).toEqual({
      upstreams: [],
      shell: [
        {
          name: 'a',
          input: { type: 'object', properties: {}, additionalProperties: false },
          policy: {},
          secrets: [],
          recipe: { file: 'make', args: [], cwd: '/etc/longcall', env: { HOME: '/home/me', PATH: '/bin' } },
          limits: {},
        },
      ],
    });
  });

  it('find their program and folder from the file', () => {
    const [one] = tools('shell: { a: { command: [./bin/run, 08, true], cwd: ../work } }');
    expect(one?.recipe).toMatchObject({ file: '/etc/longcall/bin/run', args: ['08', 'true'], cwd: '/etc/work' });
    expect(tools('shell: { a: { command: /bin/run, cwd: /work } }')[0]?.recipe).toMatchObject({
      file: '/bin/run',
      cwd: '/work',
    });
  });

  it('know their secrets, each its own', () => {
    const text =
      'shell: { a: { command: a, env: { TOKEN: "${env:OTHER}", B: "${env:GITHUB_TOKEN}" } }, b: { command: [b, "${env:OTHER}"] }, c: { command: c, inheritEnv: [CARGO_TOKEN, PATH] } }';
    expect(tools(text).map(({ secrets }) => secrets)).toEqual([['ghp_1234', 'plain'], [], ['s3cr3t']]);
    expect(load(text).secrets).toEqual(['ghp_1234', 's3cr3t', 'plain']);
  });

  it('keep a script as it is: what looks like a reference is the shell’s', () => {
    expect(tools('shell: { a: { script: "echo ${HOME} ${env:NOPE}" } }')[0]?.recipe).toMatchObject({
      file: '/bin/sh',
      args: ['-c', 'echo ${HOME} ${env:NOPE}'],
    });
  });

  it('close their input to what its schema does not name, unless that says otherwise', () => {
    const inputOf = (schema: string) => tools(`shell: { a: { command: a, input: ${schema} } }`)[0]?.input;
    expect(inputOf('{ properties: { x: { type: string } } }')).toEqual({
      type: 'object',
      properties: { x: { type: 'string' } },
      additionalProperties: false,
    });
    expect(inputOf('{ additionalProperties: { type: string } }')).toEqual({
      type: 'object',
      additionalProperties: { type: 'string' },
    });
    expect(inputOf('{ allOf: [{ properties: { x: {} } }] }')).toMatchObject({ unevaluatedProperties: false });
    expect(inputOf('{ allOf: [{ properties: { x: {} } }] }')).not.toHaveProperty('additionalProperties');
  });

  it('give upstreams beside them a prefix, as another upstream would', () => {
    const { config } = load('upstreams: { ci: { command: ci } }\nshell: { a: { command: a } }');
    expect(config.upstreams[0]?.prefix).toBe('ci_');
  });
});

describe('what is wrong with a command is told with line, column and field', () => {
  it.each<[string, string, ...string[]]>([
    ['neither', 'shell: { a: { cwd: . } }', '1:10: shell.a: expected either command or script, got neither'],
    [
      'a program from the input',
      tool('x: { type: string }', 'command: [{ input: x }]'),
      '4:15: shell.a.command[0]: expected a program: which one runs is never up to the input',
    ],
    [
      'several words',
      'shell: { a: { command: npm test } }',
      '1:24: shell.a.command: expected one program, got several words: write a list, as [npx, -y, some-server]',
    ],
    [
      'a property that there is not',
      tool('files: { type: string }', 'command: [a, { input: fles }]', 'env: { X: { input: y } }'),
      '4:27: shell.a.command[1].input: expected a property that the schema of the input names, got "fles"; did you mean "files"?',
      '5:24: shell.a.env.X.input: expected a property that the schema of the input names, got "y"',
    ],
    [
      'a property of all objects',
      tool('x: {}', 'command: [a]', 'stdin: { input: constructor }'),
      '5:21: shell.a.stdin.input: expected a property that the schema of the input names, got "constructor"',
    ],
    [
      'types that do not fit',
      tool(
        'b: { type: boolean }, s: { type: string }, o: { type: object }, any: {}, l: { type: array }, u: { type: [string, object] }, lo: { type: array, items: { type: object } }',
        'command:',
        ...['b', 'o', 'any', 'l', 'u', 'lo'].map((name) => `- { input: ${name} }`),
      ).replace('command:', 'command:\n    - a'),
      '6:16: shell.a.command[1].input: expected a property that is a text, a number, or a list of those, got one that may be boolean',
      '7:16: shell.a.command[2].input: expected a property that is a text, a number, or a list of those, got one that may be object',
      '8:16: shell.a.command[3].input: expected a property that is a text, a number, or a list of those, got one that may be anything',
      '9:16: shell.a.command[4].input: expected a property that is a text, a number, or a list of those, got one that may be array of anything',
      '10:16: shell.a.command[5].input: expected a property that is a text, a number, or a list of those, got one that may be string or object',
      '11:16: shell.a.command[6].input: expected a property that is a text, a number, or a list of those, got one that may be array of object',
    ],
    [
      'a flag that is no switch',
      tool('s: { type: string }', 'command: [a, { input: s, flag: --s }]'),
      '4:27: shell.a.command[1].input: expected a property that is true or false, got one that may be string',
    ],
    [
      'an option that the value would name',
      tool('s: { type: string }', 'command: [a, { input: s, option: --, join: "" }]'),
      '4:38: shell.a.command[1].option: expected more than dashes, or the value would name the option',
    ],
    [
      'options behind the end of options',
      tool('s: { type: string }', 'command: [a, { input: s }, { input: s, option: --x }, -v, --, -z]'),
      '4:32: shell.a.command[2]: is behind the first value that stands alone, and so behind the -- that is put before that: put it before, or say endOfOptions: false',
      '4:59: shell.a.command[3]: is behind the first value that stands alone, and so behind the -- that is put before that: put it before, or say endOfOptions: false',
    ],
    [
      'variables that are not the input’s',
      tool(
        'x: { type: string }',
        'command: a',
        'env: { PATH: { input: x }, ld_preload: { input: x }, OK: { input: x } }',
      ),
      '5:12: shell.a.env.PATH: cannot be set from the input: it decides which programs and libraries are loaded',
      '5:32: shell.a.env.ld_preload: cannot be set from the input: it decides which programs and libraries are loaded',
    ],
    [
      'a literal secret',
      'shell: { a: { command: a, env: { API_TOKEN: s3cr3t } } }',
      '1:45: shell.a.env.API_TOKEN: expected a reference, since this is secret, got a literal (not shown): write ${env:NAME} or ${file:PATH}',
    ],
    [
      'a reference that leads nowhere',
      'shell: { a: { command: [a, "${env:NOPE}"] } }',
      '1:28: shell.a.command[1]: the environment variable NOPE is not set',
    ],
    [
      'names that are taken',
      'upstreams: { ci: { command: ci, prefix: "" }, b: { command: b, deny: [uild] } }\nshell: { build: { command: a }, task_wait: { command: a }, b_x: { command: a } }',
      '2:10: shell.build: the upstream ci has no prefix, and could have a tool of this name: give this another, or deny build there',
      '2:33: shell.task_wait: is a tool by which clients without tasks follow theirs; choose another name',
      '2:33: shell.task_wait: the upstream ci has no prefix, and could have a tool of this name: give this another, or deny task_wait there',
      '2:60: shell.b_x: the upstream ci has no prefix, and could have a tool of this name: give this another, or deny b_x there',
    ],
  ])('%s', (_what, text, ...expected) => {
    expect(told(text)).toEqual(expected);
  });

  it('lets a name be that an upstream cannot have', () => {
    expect(
      told(
        'upstreams: { ci: { command: ci, prefix: "", deny: [build] }, b: { command: b, allow: [y] } }\nshell: { build: { command: a }, b_x: { command: a } }',
      ),
    ).toEqual([
      '2:33: shell.b_x: the upstream ci has no prefix, and could have a tool of this name: give this another, or deny b_x there',
    ]);
    expect(
      told('upstreams: { b: { command: b, allow: [y] } }\nshell: { b_x: { command: a }, b_: { command: a } }'),
    ).toEqual([]);
  });
});

describe('the schema of an input', () => {
  const input = (schema: string): string => `shell:\n  a:\n    command: a\n    input: ${schema}`;

  it.each<[string, string, ...string[]]>([
    ['no object', '{ type: string }', '4:20: shell.a.input.type: expected object, since the input of a tool is one'],
    [
      'a type that there is not',
      '{ properties: { x: { type: strng } } }',
      '4:39: shell.a.input.properties.x.type: expected one of array, boolean, integer, null, number, object, string; did you mean "string"?',
    ],
    [
      'a keyword that there is not',
      '{ propertes: {}, properties: { propertes: { minLenght: 1 } } }',
      '4:14: shell.a.input.propertes: unknown to JSON Schema; did you mean "properties"?',
      '4:56: shell.a.input.properties.propertes.minLenght: unknown to JSON Schema; did you mean "minLength"?',
    ],
    [
      'a keyword used wrongly',
      '{ properties: { x: { type: string, minLength: -1 } }, required: x }',
      '4:58: shell.a.input.properties.x.minLength: as JSON Schema, this must be >= 0',
      '4:76: shell.a.input.required: as JSON Schema, this must be array',
    ],
    [
      'a pattern that is none',
      '{ properties: { x: { type: string, pattern: "[" } } }',
      // In the engine's own words.
      expect.stringContaining('4:12: shell.a.input: expected a JSON Schema that can be checked by: Invalid regular'),
    ],
    [
      'a reference that leads nowhere',
      '{ properties: { x: { $ref: "#/$defs/x" } } }',
      "4:12: shell.a.input: expected a JSON Schema that can be checked by: can't resolve reference #/$defs/x from id #",
    ],
  ])('%s', (_what, schema, ...expected) => {
    expect(told(input(schema))).toEqual(expected);
  });

  it('is taken with everything that may stand in one', () => {
    const schema =
      '{ $defs: { n: { type: integer } }, properties: { type: { type: string, x-mcp-header: A, examples: [{ typo: 1 }] }, properties: { $ref: "#/$defs/n" }, d: { type: string, format: date, default: { typo: 1 } } }, required: [type] }';
    expect(told(input(schema))).toEqual([]);
    expect(tools(input(schema))[0]?.input).toMatchObject({ required: ['type'] });
  });
});
