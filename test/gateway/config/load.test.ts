// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of the file, none of JavaScript's
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, parseConfig } from '../../../src/gateway/config/load.ts';
import { complete, TOKEN } from './corpus.ts';
import { problemsOf } from './told.ts';

const folder = mkdtempSync(join(tmpdir(), 'longcall-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(() => {
  for (const [name, text, mode] of [
    ['cert.pem', 'the certificate\r\n', 0o600],
    ['two-lines', 'one\ntwo\n\n', 0o600],
    ['open', 'to everybody\n', 0o644],
    ['empty', '\n', 0o600],
    ['long', 'x'.repeat(200_000), 0o600],
    ['tokens.json', JSON.stringify({ tokens: [{ token: TOKEN, subject: 'ci' }] }), 0o600],
    ['broken.json', '{', 0o600],
  ] as const) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  }
});

const env = {
  CI_TOKEN: TOKEN,
  GITHUB_TOKEN: 'ghp_1',
  EMPTY: '',
  WEAK: 'password',
  PATH: '/bin',
  HOME: '/home/me',
  LINES: 'a\nb',
};
const load = (text: string) => parseConfig(text, 'longcall.yaml', { env, folder });

const told = (text: string): string[] => problemsOf(() => load(text));

/** The same with an upstream `a`, whose members the text has. */
const inUpstream = (...lines: string[]) =>
  ['upstreams:', '  a:', '    command: a', ...lines.map((line) => `    ${line}`)].join('\n');

describe('a configuration', () => {
  it('is read whole', () => {
    const { config, secrets } = load(complete);
    const { http, ...rest } = config;
    expect(http?.map(({ name }) => name)).toEqual(['deploy']); // Read whole in a test of its own.
    expect(rest).toEqual({
      listen: { host: '127.0.0.1', port: 7717 },
      stateFolder: '/var/lib/longcall',
      firstDraft: true,
      tokens: [{ name: 'ci', token: TOKEN }],
      limits: { slots: 64, openTasksPerPrincipal: 1000, maxRequestBytes: 4_194_304, maxResultBytes: 16_777_216 },
      upstreams: [
        {
          name: 'github',
          target: {
            command: 'npx',
            args: ['-y', 'some-server@1.2.3'],
            cwd: folder,
            env: { PATH: '/bin', HOME: '/home/me', TOKEN: 'ghp_1', CERT: 'the certificate' },
          },
          prefix: 'gh_',
          allow: ['*'],
          deny: ['delete_*'],
          policy: {
            mode: 'auto',
            slowAfterMs: 10_000,
            ttlMs: 604_800_000,
            keepResultMs: 86_400_000,
            timeoutMs: 3_600_000,
            concurrency: 4,
            onLost: 'fail',
            maxAttempts: 3,
            support: 'optional',
            fallback: { mode: 'detach', detachAfterMs: 20_000, maxBlockMs: 600_000 },
          },
          tools: [
            { match: 'run_tests', policy: { mode: 'task', timeoutMs: 7_200_000, ttlMs: null } },
            { match: 'read_*', policy: { mode: 'direct', support: 'required' } },
          ],
          idleAfterMs: 300_000,
        },
        {
          name: 'docs',
          target: {
            url: 'https://example.com/mcp',
            headers: { Authorization: `Bearer the certificate` },
            forwardAuthorization: false,
          },
          prefix: 'docs_',
          policy: {},
          tools: [],
          firstDraft: true,
        },
      ],
      shell: [
        {
          name: 'run_tests',
          title: 'Tests',
          description: 'Run the test suite',
          input: {
            type: 'object',
            properties: {
              bail: { type: 'boolean' },
              grep: { type: 'string' },
              files: { type: 'array', items: { type: 'string' } },
            },
            additionalProperties: false,
          },
          annotations: {
            title: 'Tests',
            readOnlyHint: true,
            destructiveHint: false,
            idempotentHint: true,
            openWorldHint: false,
          },
          policy: {
            ttlMs: 604_800_000,
            keepResultMs: 86_400_000,
            concurrency: 2,
            onLost: 'rerun',
            maxAttempts: 2,
            support: 'optional',
            fallback: { mode: 'block' },
          },
          secrets: ['the certificate', 'ghp_1'],
          recipe: {
            file: 'npx',
            args: [
              ...['-y', 'vitest', 'run', { input: 'bail', flag: '--bail' }],
              { input: 'grep', option: '--testNamePattern', join: '=', dash: true },
              { input: 'files', dash: false },
            ],
            endOfOptions: true,
            cwd: folder,
            env: { PATH: '/bin', CI: '1', TOKEN: 'ghp_1', CERT: 'the certificate', LABEL: { input: 'grep' } },
            stdin: { input: 'grep' },
          },
          limits: {
            timeoutMs: 1_800_000,
            graceMs: 5_000,
            headBytes: 1_048_576,
            tailBytes: 8_388_608,
            maxOutputBytes: 1_073_741_824,
          },
          okCodes: [0, 1],
          output: 'json',
          progress: false,
        },
        {
          name: 'migrate',
          input: { type: 'object', properties: {}, additionalProperties: false },
          policy: {},
          secrets: [],
          recipe: {
            file: '/bin/sh',
            args: ['-c', 'echo "${HOME}"\n'],
            cwd: folder,
            env: { PATH: '/bin', HOME: '/home/me' },
          },
          limits: {},
        },
      ],
    });
    expect(secrets).toEqual([TOKEN, 'the certificate', 'ghp_1']);
  });

  it('needs little', () => {
    const { config, secrets } = load('{ upstreams: { a: { command: [node, server.js, 08, 0x10, 1.0, true] } } }');
    expect(config).toEqual({
      upstreams: [
        {
          name: 'a',
          target: {
            command: 'node',
            args: ['server.js', '08', '0x10', '1.0', 'true'],
            env: { HOME: '/home/me', PATH: '/bin' },
          },
          prefix: '',
          policy: {},
          tools: [],
        },
      ],
    });
    expect(secrets).toEqual([]);
  });

  it.each([
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['"[::1]:8080"', { host: '::1', port: 8080 }],
    ['{ port: 1 }', { host: '127.0.0.1', port: 1 }],
    ['{ host: ::1 }', { host: '::1', port: 7717 }],
  ])('listens on %s', (written, listen) => {
    expect(load(`listen: ${written}\n${inUpstream()}`).config.listen).toEqual(listen);
  });

  it('has paths that are relative to it, and takes references in them', () => {
    const { config } = load(
      `state: \${env:HOME}/state\nauth: { tokenFile: ./tokens.json }\nupstreams: { a: { command: ./bin/a, cwd: sub } }`,
    );
    expect(config).toMatchObject({
      stateFolder: '/home/me/state',
      tokenFile: join(folder, 'tokens.json'),
      upstreams: [{ target: { command: join(folder, 'bin/a'), cwd: join(folder, 'sub') } }],
    });
  });

  it('passes on what it names, and keeps to itself what is secret by its name', () => {
    const { config, secrets } = load(inUpstream('inheritEnv: [GITHUB_TOKEN, MISSING]', 'env: { HOME: "${env:HOME}" }'));
    expect(config.upstreams[0]?.target).toMatchObject({ env: { GITHUB_TOKEN: 'ghp_1', HOME: '/home/me' } });
    expect(secrets).toEqual(['ghp_1']);
  });

  it('cuts one line end off a file, and no more', () => {
    const { config, secrets } = load(inUpstream('env: { TEXT: "<${file:two-lines}>" }'));
    expect(config.upstreams[0]?.target).toMatchObject({ env: { TEXT: '<one\ntwo\n>' } });
    expect(secrets).toEqual(['one\ntwo\n']);
  });

  it('gives an alias its own value each time', () => {
    const { config } = load(
      'upstreams:\n  a: { command: a, fallback: &f { mode: block } }\n  b: { command: b, fallback: *f, tools: { x: &t { ttl: 1h }, y: *t } }',
    );
    expect(config.upstreams[1]).toMatchObject({
      policy: { fallback: { mode: 'block' } },
      tools: [{ policy: { ttlMs: 3_600_000 } }, { policy: { ttlMs: 3_600_000 } }],
    });
  });

  it('may give two upstreams one prefix where both say which tools they have', () => {
    const upstreams = (a: string, b: string) =>
      `upstreams: { a: { command: a, prefix: "", allow: [${a}] }, b: { command: b, prefix: "", allow: [${b}] } }`;
    expect(told(upstreams('x, y', 'z'))).toEqual([]);
    expect(told(upstreams('x, y', 'y'))).toHaveLength(1);
    expect(told(upstreams('x, y', '"z*"'))).toHaveLength(1);
  });

  it('takes for no secret what only sounds like one', () => {
    const lines = [
      'MAX_TOKENS: 4096',
      'KEY_FILE: /k',
      'SSH_AUTH_SOCK: /s',
      'KEYBOARD: de',
      'AUTHOR: me',
      'TOKEN: ""',
      'DB: postgres://u:${env:GITHUB_TOKEN}@h/d',
    ];
    expect(told(inUpstream('env:', ...lines.map((line) => `  ${line}`)))).toEqual([]);
  });
});

const HOW = 'write ${env:NAME} or ${file:PATH}';
const LITERAL = `expected a reference, since this is secret, got a literal (not shown): ${HOW}`;
const DURATION = 'expected a duration, such as 500ms, 10s, 5m, 1h or 7d';

describe('what is wrong is told with line, column and field', () => {
  const cases: readonly [string, string, ...string[]][] = [
    ['an empty file', '', '1:1: expected a mapping with upstreams, shell or http, got nothing'],
    ['a text', 'hello', '1:1: expected a mapping with upstreams, shell or http, got "hello"'],
    ['no upstreams', 'state: x', '1:1: expected a mapping with upstreams, shell or http, got neither'],
    [
      'upstreams without any',
      'upstreams: {}',
      '1:12: upstreams: expected a mapping of names to MCP servers, one at least, got an empty mapping',
    ],
    ['a key with a slip', 'lisen: x\nupstreams: { a: { command: a } }', '1:1: lisen: unknown; did you mean "listen"?'],
    [
      'a key in other letters',
      inUpstream('slowafter: 1s'),
      '4:5: upstreams.a.slowafter: unknown; did you mean "slowAfter"?',
    ],
    ['a key with a unit', inUpstream('ttlMs: 1'), '4:5: upstreams.a.ttlMs: unknown; did you mean "ttl"?'],
    [
      'a key that is nowhere',
      'upstreams: { a: { command: a } }\ncolour: red',
      '2:1: colour: unknown; expected one of listen, state, firstDraft, auth, limits, upstreams, shell, http, publicUrl',
    ],
    [
      'a prototype',
      'upstreams: { a: { command: a } }\n__proto__: { x: 1 }',
      '2:1: __proto__: unknown; expected one of listen, state, firstDraft, auth, limits, upstreams, shell, http, publicUrl',
    ],
    [
      'a name of an upstream',
      'upstreams: { Git Hub: { command: a } }',
      '1:14: upstreams["Git Hub"]: expected a name of at most 32 of a-z, 0-9, _ and -, that begins with a letter or digit, got "Git Hub"',
    ],
    [
      'an upstream that is nothing',
      'upstreams:\n  a:',
      '2:5: upstreams.a: expected either command or url, got nothing',
    ],
    ['neither', 'upstreams: { a: { mode: task } }', '1:14: upstreams.a: expected either command or url, got neither'],
    ['both', inUpstream('url: http://x/'), '2:3: upstreams.a: expected either command or url, got both'],
    [
      'headers of a command',
      inUpstream('headers: { a: b }'),
      '4:5: upstreams.a.headers: goes with url, which is not there',
    ],
    [
      'a command line',
      'upstreams: { a: { command: npx -y server } }',
      '1:28: upstreams.a.command: expected one program, got several words: write a list, as [npx, -y, some-server], or put the others under args',
    ],
    [
      'two lists of arguments',
      'upstreams: { a: { command: [a, b], args: [c] } }',
      '1:28: upstreams.a.command: expected a program, since there are args, got a list',
    ],
    ['a list in a list', inUpstream('args: [a, [b]]'), '4:15: upstreams.a.args[1]: expected a text, got a list'],
    [
      'a mode with a slip',
      inUpstream('mode: tasks'),
      '4:11: upstreams.a.mode: expected task, direct or auto, got "tasks"; did you mean "task"?',
    ],
    ['milliseconds', inUpstream('timeout: 10000'), `4:14: upstreams.a.timeout: ${DURATION}, got 10000`],
    ['a unit that is none', inUpstream('timeout: 10 sec'), `4:14: upstreams.a.timeout: ${DURATION}, got "10 sec"`],
    ['no time at all', inUpstream('timeout: 0s'), `4:14: upstreams.a.timeout: ${DURATION}, got "0s"`],
    [
      'for ever, where something has to end',
      inUpstream('timeout: forever'),
      `4:14: upstreams.a.timeout: ${DURATION}, got "forever"`,
    ],
    [
      'a size',
      'limits: { maxResult: 16MB }\nupstreams: { a: { command: a } }',
      '1:22: limits.maxResult: expected a size, such as 512KiB, 4MiB or 1GiB, got "16MB"',
    ],
    [
      'a number below',
      inUpstream('concurrency: 0'),
      '4:18: upstreams.a.concurrency: expected a whole number from 1 to 10000, got 0',
    ],
    [
      'a number in quotes',
      inUpstream('attempts: "3"'),
      '4:15: upstreams.a.attempts: expected a whole number from 1 to 1000, got "3"',
    ],
    [
      'a word of YAML 1.1',
      inUpstream('requireTasks: yes'),
      '4:19: upstreams.a.requireTasks: expected true or false, got "yes"',
    ],
    [
      'a pattern',
      inUpstream('deny: ["a?"]'),
      '4:12: upstreams.a.deny[0]: expected a tool name, in which * stands for anything and nothing else is special, got "a?"',
    ],
    [
      'a tool by its rule',
      inUpstream('tools:', '  "read_*": { mode: direct, timout: 1h }'),
      '5:33: upstreams.a.tools["read_*"].timout: unknown; did you mean "timeout"?',
    ],
    [
      'within fallback',
      inUpstream('fallback: { detachAfter: soon }'),
      '4:30: upstreams.a.fallback.detachAfter: expected a duration, such as 0s, 500ms, 10s, 5m or 1h, got "soon"',
    ],
    [
      'an address without a port',
      `listen: localhost\n${inUpstream()}`,
      '1:9: listen: expected HOST:PORT, such as 127.0.0.1:7717 or [::1]:7717, or { host, port }, got "localhost"',
    ],
    [
      'a port that is none',
      `listen: localhost:70000\n${inUpstream()}`,
      '1:9: listen: expected a port from 0 to 65535, got "localhost:70000"',
    ],
    [
      'an address that others reach',
      `listen: 0.0.0.0:80\n${inUpstream()}`,
      '1:9: listen: 0.0.0.0 can be reached by others: auth has to say who is let in, or listen on 127.0.0.1',
    ],
    [
      'two ways in',
      `auth: { tokens: [{ name: a, token: "\${env:CI_TOKEN}" }], tokenFile: tokens.json }\n${inUpstream()}`,
      '1:1: auth: expected either tokens or tokenFile, got both',
    ],
    [
      'a token without a name',
      `auth: { tokens: [{ token: "\${env:CI_TOKEN}" }] }\n${inUpstream()}`,
      '1:18: auth.tokens[0]: expected { name, token }; name is missing',
    ],
    [
      'a token that can be guessed',
      `auth: { tokens: [{ name: a, token: "\${env:WEAK}" }] }\n${inUpstream()}`,
      '1:36: auth.tokens[0].token: what it refers to can be guessed: it needs 128 random bits; make one with: openssl rand -hex 16',
    ],
    [
      'a token twice',
      `auth: { tokens: [{ name: a, token: &t "\${env:CI_TOKEN}" }, { name: b, token: *t }] }\n${inUpstream()}`,
      '1:39: auth.tokens[1].token: expected a token of its own, got that of auth.tokens[0]',
    ],
    [
      'a file of tokens that is not there',
      `auth: { tokenFile: nope.json }\n${inUpstream()}`,
      `1:20: auth.tokenFile: there is no file ${join(folder, 'nope.json')}`,
    ],
    [
      'a file of tokens that is none',
      `auth: { tokenFile: broken.json }\n${inUpstream()}`,
      `1:20: auth.tokenFile: token file ${join(folder, 'broken.json')} is not JSON`,
    ],
    [
      'a prefix twice',
      'upstreams:\n  a: { command: a, prefix: x_ }\n  b: { command: b, prefix: x_ }',
      '3:28: upstreams.b.prefix: expected another prefix than that of a, got the prefix x_: their tools could have the same names; give each its own, or allow in both only names that differ',
    ],
    [
      'a prefix that another has by default',
      'upstreams:\n  b: { command: b, prefix: a_ }\n  a: { command: a }',
      '3:3: upstreams.a: b has the prefix a_ too: their tools could have the same names; give each its own, or allow in both only names that differ',
    ],
    [
      'a literal token',
      `auth: { tokens: [{ name: a, token: s3cr3t }] }\n${inUpstream()}`,
      `1:36: auth.tokens[0].token: ${LITERAL}`,
    ],
    [
      'a literal header',
      'upstreams: { a: { url: http://x/, headers: { authorization: Bearer s3cr3t } } }',
      `1:61: upstreams.a.headers.authorization: ${LITERAL}`,
    ],
    [
      'a literal key',
      'upstreams: { a: { url: http://x/, headers: { X-Api-Key: s3cr3t } } }',
      `1:57: upstreams.a.headers.X-Api-Key: ${LITERAL}`,
    ],
    ...[
      'TOKEN',
      'GH_TOKEN',
      'CLIENT_SECRET',
      'PASSWORD',
      'PGPASSWORD',
      'API_KEY',
      'OPENAI_APIKEY',
      'DB_PASS',
      'MY_KEY_',
      'GITHUB_PAT',
    ].map((name): [string, string, string] => [
      `a literal ${name}`,
      inUpstream('env:', `  ${name}: s3cr3t`),
      `5:${9 + name.length}: upstreams.a.env.${name}: ${LITERAL}`,
    ]),
    ['a literal number', inUpstream('env: { PASSWORD: 123456 }'), `4:22: upstreams.a.env.PASSWORD: ${LITERAL}`],
    [
      'a password in an address',
      inUpstream('env: { DB: "postgres://u:s3cr3t@h/d" }'),
      `4:16: upstreams.a.env.DB: ${LITERAL}`,
    ],
    [
      'a password in the address',
      'upstreams: { a: { url: "http://u:s3cr3t@h/" } }',
      `1:24: upstreams.a.url: ${LITERAL}`,
    ],
    [
      'a name in the address',
      'upstreams: { a: { url: "http://s3cr3t@h/" } }',
      '1:24: upstreams.a.url: expected an address without a name and password; send them as headers.Authorization',
    ],
    [
      'a secret in the query',
      'upstreams: { a: { url: "http://h/?x=1&api_key=s3cr3t" } }',
      '1:24: upstreams.a.url: expected a reference for the secret in the query, got a literal (not shown)',
    ],
    [
      'an address that is none',
      'upstreams: { a: { url: "s3cr3t.example" } }',
      '1:24: upstreams.a.url: expected an address that begins with http:// or https://, got a text',
    ],
    [
      'an address that has no host',
      'upstreams: { a: { url: "http://" } }',
      '1:24: upstreams.a.url: expected an http:// or https:// address, got something else (not shown)',
    ],
    [
      'a secret as the name of a header',
      'upstreams: { a: { url: http://x/, headers: { "Authorization: Bearer s3cr3t": "" } } }',
      '1:46: upstreams.a.headers: expected the name of a header, got another (not shown)',
    ],
    [
      'a piece of a secret',
      `auth: { tokens: [{ name: a, token: "\${env:CI_TOKEN}", s3cr3t }] }\n${inUpstream()}`,
      '1:55: auth.tokens[0]: expected only name, token, got another name',
    ],
    [
      'a list of an environment',
      inUpstream('env: [TOKEN=s3cr3t]'),
      '4:10: upstreams.a.env: expected a mapping of names to texts, got a list',
    ],
    [
      'an argument that is none',
      inUpstream('args: s3cr3t'),
      '4:11: upstreams.a.args: expected a list of texts, got a text',
    ],
    [
      'a variable that is not set',
      inUpstream('env: { A: "${env:NOPE}" }'),
      '4:15: upstreams.a.env.A: the environment variable NOPE is not set',
    ],
    [
      'a variable that everything has',
      inUpstream('env: { A: "${env:constructor}" }'),
      '4:15: upstreams.a.env.A: the environment variable constructor is not set',
    ],
    [
      'a variable that is empty',
      inUpstream('env: { A: "${env:EMPTY}" }'),
      '4:15: upstreams.a.env.A: the environment variable EMPTY is empty',
    ],
    [
      'a reference to something else',
      inUpstream('env: { A: "${GITHUB_TOKEN}" }'),
      '4:15: upstreams.a.env.A: expected ${env:NAME} or ${file:PATH}, got another ${…}',
    ],
    [
      'a reference with no end',
      inUpstream('env: { A: "${env:HOME" }'),
      `4:15: upstreams.a.env.A: a \${ that is never closed, or has another within: ${HOW}`,
    ],
    [
      'a file that is not there',
      inUpstream('env: { A: "${file:nope}" }'),
      `4:15: upstreams.a.env.A: there is no file ${join(folder, 'nope')}`,
    ],
    [
      'a file that is a folder',
      inUpstream('env: { A: "${file:.}" }'),
      `4:15: upstreams.a.env.A: the file ${folder} is not a file`,
    ],
    [
      'a file that is open to others',
      inUpstream('env: { A: "${file:open}" }'),
      `4:15: upstreams.a.env.A: the file ${join(folder, 'open')} is open to others (mode 644): chmod 600 ${join(folder, 'open')}`,
    ],
    [
      'a file that is empty',
      inUpstream('env: { A: "${file:empty}" }'),
      `4:15: upstreams.a.env.A: the file ${join(folder, 'empty')} is empty`,
    ],
    [
      'a file that is long',
      inUpstream('env: { A: "${file:long}" }'),
      `4:15: upstreams.a.env.A: the file ${join(folder, 'long')} is longer than 131072 bytes`,
    ],
    [
      'a header of two lines',
      'upstreams: { a: { url: http://x/, headers: { A: "${env:LINES}" } } }',
      '1:49: upstreams.a.headers.A: expected a text on one line of Latin letters, got another (not shown)',
    ],
    [
      'a header twice',
      'upstreams: { a: { url: http://x/, headers: { A: b, a: c } } }',
      '1:52: upstreams.a.headers.a: the same header as A',
    ],
    [
      'two Authorizations',
      'upstreams: { a: { url: http://x/, forwardAuthorization: true, headers: { Authorization: "${env:GITHUB_TOKEN}" } } }',
      "1:74: upstreams.a.headers.Authorization: either this, or the caller's own by forwardAuthorization",
    ],
    ['a key twice', inUpstream('mode: task', 'mode: auto'), '5:5: upstreams.a.mode: this name is there already'],
    [
      'a tool twice',
      inUpstream('tools:', '  x: {}', '  x: {}'),
      '6:7: upstreams.a.tools.x: this name is there already',
    ],
    ['an alias of nothing', 'upstreams: *a', '1:12: an alias of what is not there before it'],
    [
      'an alias within itself',
      'upstreams: &a { a: { command: a, tools: { x: *a } } }',
      '1:20: expected at most 16 levels, got more',
    ],
    ['a tag', 'upstreams: !!js/function "x"', '1:12: expected no tag, got one'],
    ['a tag that other schemas have', `state: !!binary aGk=\n${inUpstream()}`, '1:8: expected no tag, got one'],
    [
      'a merge',
      'upstreams:\n  a: &a { command: a }\n  b: { <<: *a, command: b }',
      '3:8: upstreams.b["<<"]: merge keys are not read; an alias can only stand for a whole value',
    ],
    ['two documents', `${inUpstream()}\n---\n${inUpstream()}`, '4:1: expected one document, got another behind ---'],
    ['another YAML', `%YAML 1.1\n---\n${inUpstream()}`, '1:1: expected YAML 1.2, got another %YAML'],
    ['a tab', 'upstreams:\n\ta: x', '2:1: a tab does not indent; use spaces'],
    [
      'a bracket that is missing',
      'upstreams: { a: [s3cr3t }',
      '1:25: the indentation is wrong, or a bracket is not closed',
    ],
    [
      'a quote that is missing',
      'upstreams: "s3cr3t',
      '1:19: something is missing here: a closing quote or bracket, a comma, a colon or a space',
    ],
    ['a key that is a list', 'upstreams: { [a]: b }', '1:14: expected a text as name'],
  ];
  it.each(cases)('%s', (_what, text, ...expected) => {
    const lines = told(text);
    expect(lines).toEqual(expected);
    expect(lines.join('\n')).not.toContain('s3cr3t');
  });

  it('all at once, in the order of the file', () => {
    const text = inUpstream(
      'mode: tusk',
      'env: { TOKEN: s3cr3t, A: "${env:NOPE}" }',
      'url: ftp://x',
      'tools: { x: { ttl: 7 } }',
    );
    expect(told(`limits: { slots: no }\n${text}`).map((line) => line.replace(/^(\d+:\d+: [^:]*):.*/, '$1'))).toEqual([
      '1:18: limits.slots',
      '3:3: upstreams.a',
      '5:11: upstreams.a.mode',
      '6:19: upstreams.a.env.TOKEN',
      '6:30: upstreams.a.env.A',
      '7:10: upstreams.a.url',
      '8:24: upstreams.a.tools.x.ttl',
    ]);
  });
});

it('of very many things that are wrong, the first are told', () => {
  const lines = told(`${inUpstream()}\n${Array.from({ length: 150 }, (_, at) => `colour${at}: red`).join('\n')}`);
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toBe(' and 50 more');
});

describe('a file', () => {
  const file = join(folder, 'longcall.yaml');
  const refused = (path: string): string => {
    try {
      loadConfig(path, env);
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('is the one that was named', () => {
    writeFileSync(file, inUpstream('cwd: .'));
    expect(loadConfig(file, env).config.upstreams[0]?.target).toMatchObject({ cwd: folder });
    expect(refused(join(folder, 'other.yaml'))).toBe(
      `${join(folder, 'other.yaml')}:1:1: there is no file ${join(folder, 'other.yaml')}`,
    );
    expect(refused(folder)).toContain('is not a file');
  });

  it('is text, and not too much of it', () => {
    writeFileSync(file, Buffer.from([0x61, 0xff]));
    expect(refused(file)).toBe(`${file}:1:1: expected text in UTF-8, got something else`);
    writeFileSync(file, `# ${' '.repeat(2 ** 17)}`);
    expect(refused(file)).toBe(`${file}:1:1: expected at most 131072 bytes, got 131074`);
  });

  it('is not multiplied by its aliases', () => {
    const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let at = 1; at < 10; at += 1)
      laughs.push(
        `a${at}: &a${at} [${Array(10)
          .fill(`*a${at - 1}`)
          .join(', ')}]`,
      );
    expect(told(laughs.join('\n')).join()).toMatch(/expected at most 20000 values, aliases included/);
    expect(told('['.repeat(200_000)).join()).not.toBe('');
  });
});
