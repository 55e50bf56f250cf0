import fc from 'fast-check';
import { parse as parseJsonc } from 'jsonc-parser';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { afterEach, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { json } from '../../../src/cli/gateway/setup/forms/json.ts';
import { toml } from '../../../src/cli/gateway/setup/forms/toml.ts';
import type { Syntax } from '../../../src/cli/gateway/setup/forms/tree.ts';
import { yaml } from '../../../src/cli/gateway/setup/forms/yaml.ts';
import { undoAll, wrapAll } from '../../../src/cli/gateway/setup/rewrite.ts';

const launcher = { command: 'npx', args: ['-y', 'longcall@1.2.3'] };
const own = ['-y', 'longcall@1.2.3', 'wrap'];

type Servers = Record<string, Record<string, unknown>>;

function read(text: string, syntax: Syntax): Servers {
  const value = {
    JSON: () => parseJsonc(text.replace(/^\ufeff/, ''), [], { allowTrailingComma: true }) as unknown,
    TOML: () => getStaticTOMLValue(parseTOML(text)) as unknown,
    YAML: () => parseYaml(text) as unknown,
  }[syntax.name]() as Record<string, Servers>;
  return value.mcpServers ?? value.servers ?? value.mcp_servers ?? value.extensions ?? value.mcp ?? {};
}

function wrapped(text: string, syntax: Syntax) {
  const done = wrapAll(text, syntax, launcher);
  if (done === undefined) throw new Error('no place for servers');
  return { ...done, read: read(done.text, syntax) };
}

function undone(text: string, syntax: Syntax): string {
  const done = undoAll(text, syntax);
  expect(done?.servers.filter(({ did }) => did === 'left')).toEqual([]);
  return done?.text ?? '';
}

const reference = (name: string) => ['$', '{', name, '}'].join('');

describe('servers put behind the gateway', () => {
  it.each<[string, Syntax, string, Servers]>([
    [
      'a command of most hosts',
      json,
      '{"mcpServers":{"a":{"command":"node","args":["s.js","--x"],"env":{"K":"v"},"timeout":5}}}',
      { a: { command: 'npx', args: [...own, '--', 'node', 's.js', '--x'], env: { K: 'v' }, timeout: 5 } },
    ],
    [
      'a command without arguments',
      json,
      '{"mcpServers":{"a":{"command":"srv"},"b":{"command":"srv","args":[]}}}',
      {
        a: { command: 'npx', args: [...own, '--was', 'no-args', '--', 'srv'] },
        b: { command: 'npx', args: [...own, '--', 'srv'] },
      },
    ],
    [
      'an address, its headers as variables of the process',
      json,
      `{"mcpServers":{"a":{"type":"http","url":"https://x/mcp","headers":{"Authorization":"Bearer ${reference('T')}","X-B":"c"}}}}`,
      {
        a: {
          type: 'stdio',
          command: 'npx',
          args: [
            ...own,
            '--url',
            'https://x/mcp',
            '--header-env',
            'Authorization=LONGCALL_HEADER_1',
            '--header-env',
            'X-B=LONGCALL_HEADER_2',
            '--was',
            'url,type=http,headers',
          ],
          env: { LONGCALL_HEADER_1: `Bearer ${reference('T')}`, LONGCALL_HEADER_2: 'c' },
        },
      },
    ],
    [
      'the addresses of Gemini and of Windsurf',
      json,
      '{"mcpServers":{"a":{"httpUrl":"https://x/mcp","timeout":9},"b":{"serverUrl":"https://y/mcp"}}}',
      {
        a: { command: 'npx', args: [...own, '--url', 'https://x/mcp', '--was', 'httpUrl'], timeout: 9 },
        b: { command: 'npx', args: [...own, '--url', 'https://y/mcp', '--was', 'serverUrl'] },
      },
    ],
    [
      'VS Code',
      json,
      '{"servers":{"a":{"type":"stdio","command":"uvx","args":["s"]},"b":{"type":"http","url":"https://x"}},"inputs":[]}',
      {
        a: { type: 'stdio', command: 'npx', args: [...own, '--', 'uvx', 's'] },
        b: { type: 'stdio', command: 'npx', args: [...own, '--url', 'https://x', '--was', 'url,type=http'] },
      },
    ],
    [
      'OpenCode',
      json,
      '{"mcp":{"a":{"type":"local","command":["bun","x","s"],"environment":{"A":"1"}},"b":{"type":"remote","url":"https://x","headers":{"H":"v"},"enabled":true}}}',
      {
        a: { type: 'local', command: ['npx', ...own, '--', 'bun', 'x', 's'], environment: { A: '1' } },
        b: {
          type: 'local',
          command: [
            'npx',
            ...own,
            '--url',
            'https://x',
            '--header-env',
            'H=LONGCALL_HEADER_1',
            '--was',
            'url,type=remote,headers',
          ],
          environment: { LONGCALL_HEADER_1: 'v' },
          enabled: true,
        },
      },
    ],
    [
      'Codex',
      toml,
      [
        '[mcp_servers.a]',
        "command = 'uvx'",
        'args = ["s"]',
        '[mcp_servers.b]',
        'url = "https://x" # c',
        'bearer_token_env_var = "TOKEN"',
        '[mcp_servers.b.http_headers]',
        'X-A = "1"',
        '',
      ].join('\n'),
      {
        a: { command: 'npx', args: [...own, '--', 'uvx', 's'] },
        b: {
          command: 'npx',
          args: [
            ...own,
            '--url',
            'https://x',
            '--header-env',
            'X-A=LONGCALL_HEADER_1',
            '--header',
            `Authorization: Bearer ${reference('TOKEN')}`,
            '--was',
            'url,headers,bearer',
          ],
          env: { LONGCALL_HEADER_1: '1' },
          env_vars: ['TOKEN'],
        },
      },
    ],
    [
      'Goose',
      yaml,
      [
        'extensions:',
        '  a:',
        '    type: stdio',
        '    cmd: uvx',
        '    args:',
        '      - s # the server',
        '    timeout: 300',
        '  b:',
        '    type: streamable_http',
        '    uri: https://x/mcp',
        '    headers:',
        `      Authorization: Bearer ${reference('T')}`,
        '    envs: {}',
        '    env_keys: [T]',
        '',
      ].join('\n'),
      {
        a: { type: 'stdio', cmd: 'npx', args: [...own, '--', 'uvx', 's'], timeout: 300 },
        b: {
          type: 'stdio',
          cmd: 'npx',
          args: [
            ...own,
            '--url',
            'https://x/mcp',
            '--header-env',
            'Authorization=LONGCALL_HEADER_1',
            '--was',
            'uri,type=streamable_http,headers,env',
          ],
          envs: { LONGCALL_HEADER_1: `Bearer ${reference('T')}` },
          headers: {},
          env_keys: ['T'],
        },
      },
    ],
  ])('are %s, and go back to the letter', (_name, syntax, text, expected) => {
    const done = wrapped(text, syntax);
    expect(done.servers.map(({ did }) => did)).toEqual(Object.keys(expected).map(() => 'wrapped'));
    expect(done.read).toEqual(expected);
    expect(undone(done.text, syntax)).toBe(text);
    expect(undone(text, syntax)).toBe(text);
    const again = wrapped(done.text, syntax);
    expect(again.text).toBe(done.text);
    expect(again.servers.map(({ why }) => why)).toEqual(Object.keys(expected).map(() => 'already behind the gateway'));
  });

  it('leave alone what stands around them, letter by letter', () => {
    const text = [
      '\ufeff{',
      '\t// Häuser 🏠, and a comment that says "command": "node"',
      '\t"mcpServers": {',
      '\t\t"näme": { "command" : "n\\u006fde", "args" : [ // first',
      '\t\t\t"é",',
      '\t\t],},',
      '\t},',
      '\t"other":   [1,2 ,],',
      '}',
    ].join('\r\n');
    const done = wrapped(text, json);
    expect(done.text).toBe(
      text.replace('"n\\u006fde", "args" : [', `"npx", "args" : ["-y", "longcall@1.2.3", "wrap", "--", "n\\u006fde", `),
    );
    expect(done.read).toEqual({ näme: { command: 'npx', args: [...own, '--', 'node', 'é'] } });
    expect(undone(done.text, json)).toBe(text);
  });

  it('may be chosen by name', () => {
    const text = '{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"},"c":{"command":"z"}}}';
    const names = (choice: object) => wrapAll(text, json, launcher, choice)?.servers.map(({ name }) => name);
    expect(names({ only: ['a', 'c'] })).toEqual(['a', 'c']);
    expect(names({ except: ['a'] })).toEqual(['b', 'c']);
    expect(() => names({ only: ['d'] })).toThrow('no server "d"; there are a, b, c');
  });

  it.each([
    ['{"disabled":true,"command":"x"}', 'is switched off'],
    ['{"enabled":false,"type":"local","command":["x"]}', 'is switched off'],
    ['{"type":"sse","url":"https://x"}', 'speaks the transport of 2024'],
    ['{"url":"https://x","oauth":{"clientId":"c"}}', 'the host signs in to it ("oauth")'],
    ['{"url":"https://x","auth":{"CLIENT_ID":"c"}}', 'the host signs in to it ("auth")'],
    ['{"url":"https://x","authProviderType":"google_credentials"}', 'the host signs in to it ("authProviderType")'],
    ['{"url":"unix:///run/x.sock","type":"http"}', 'its address is not one of HTTP'],
    ['{"url":"https://x/mcp?exaApiKey=1"}', 'its address holds what looks like a secret'],
    ['{"url":"https://a:b@x/mcp"}', 'its address holds what looks like a secret'],
    ['{"command":"x","command":"y"}', 'has "command" twice'],
    ['{"url":"https://x","command":"y"}', 'has both a command and an address'],
    ['{"name":"x"}', 'is neither a command nor an address'],
    ['{"command":7}', 'its command or arguments are no texts'],
    ['{"command":"x","args":"y"}', 'its command or arguments are no texts'],
    ['{"url":"https://x","headers":{"a b":"c"}}', '"a b" is no name of a header'],
    ['{"url":"https://x","headers":{"a":1}}', 'the header "a" is no text'],
    ['{"url":"https://x","headers":{"a":"1"},"env":{"B":"c"}}', 'has both "headers" and "env"'],
    ['{"url":"https://x","headers":{"\\u0041":"1"}}', 'the key "A" is written in another way'],
  ])('are told of when they cannot be: %s', (entry, why) => {
    const text = `{"mcpServers":{"s":${entry},"ok":{"command":"x","args":[]}}}`;
    const done = wrapped(text, json);
    expect(done.servers[0]).toMatchObject({ name: 's', did: 'left', why: expect.stringContaining(why) });
    expect(done.servers[1]).toEqual({ name: 'ok', did: 'wrapped' });
    expect(undone(done.text, json)).toBe(text);
  });

  it('are not touched when two have one name, of which the host takes one', () => {
    const text = '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}';
    expect(() => wrapped(text, json)).toThrow('has the server "a" twice');
  });

  it('are left when Goose alone could replace a reference', () => {
    const text = 'extensions:\n  a:\n    uri: https://x\n    headers:\n      A: Bearer $T\n';
    expect(wrapped(text, yaml).servers[0]).toMatchObject({
      did: 'left',
      why: expect.stringContaining('a reference without braces'),
    });
  });

  it('are left where YAML ties them to other places', () => {
    const text = [
      'extensions:',
      '  a: &a {type: stdio, cmd: x, args: [y]}',
      '  b: *a',
      '  c: {type: stdio, cmd: *z, args: []}',
      '  d: {type: builtin, enabled: true}',
      '  e:',
      '    cmd: [x',
      '',
    ];
    const file = [...text.slice(0, 3), text[4], ''].join('\n');
    const done = wrapped(file, yaml);
    expect(done.servers.map(({ name, did }) => [name, did])).toEqual([
      ['a', 'left'],
      ['d', 'left'],
    ]);
    expect(done.servers[0]?.why).toBe('is tied to other places of the file');
    expect(done.text).toBe(file);
    expect(() => wrapped(text.join('\n'), yaml)).toThrow(/^line \d+, column \d+: /);
  });
});

describe('servers taken out again', () => {
  const text = '{"mcpServers":{"a":{"command":"node","args":["s"]},"u":{"url":"https://x","headers":{"A":"b"}}}}';

  it('come back though the file was formatted and added to', () => {
    const value = JSON.parse(wrapped(text, json).text) as { mcpServers: Servers };
    value.mcpServers.new = { command: 'other' };
    value.mcpServers.a = { timeout: 3, ...value.mcpServers.a };
    const then = undone(JSON.stringify(value, null, 2), json);
    expect(JSON.parse(then)).toEqual({
      mcpServers: {
        a: { timeout: 3, command: 'node', args: ['s'] },
        u: { url: 'https://x', headers: { A: 'b' } },
        new: { command: 'other' },
      },
    });
    expect(then).toContain('"args": [\n        "s"\n      ]');
  });

  it('come back with another version, of another program, and written by hand', () => {
    const entries = {
      a: { command: 'npx', args: ['--yes', 'longcall', 'wrap', '--policy', 'x', '--', 'node', 's', '--', 't'] },
      b: { command: '/opt/bin/longcall', args: ['wrap', '--', 'node'] },
      c: { command: 'cmd', args: ['/c', 'npx', '-y', 'longcall@0.0.1', 'wrap', '--', 'node'] },
      d: { command: 'C:\\bin\\longcall.cmd', args: ['wrap', '--', 'node', 's'] },
    };
    expect(JSON.parse(undone(JSON.stringify({ mcpServers: entries }), json))).toEqual({
      mcpServers: {
        a: { command: 'node', args: ['s', '--', 't'] },
        b: { command: 'node', args: [] },
        c: { command: 'node', args: [] },
        d: { command: 'node', args: ['s'] },
      },
    });
  });

  it.each([
    ['{"command":"npx","args":["-y","longcall","wrap","--url","https://x"]}', 'does not say what it was'],
    [
      '{"command":"npx","args":["-y","longcall","wrap","--url","https://x","--header-env","A=LONGCALL_HEADER_1","--was","url,headers"],"env":{"LONGCALL_HEADER_1":"b","MINE":"c"}}',
      'its "env" has MINE',
    ],
    [
      '{"command":"npx","args":["-y","longcall","wrap","--url","https://x","--header-env","A=LONGCALL_HEADER_1","--was","url,headers"],"env":{}}',
      'the value of its header "A" is not in "env" any more',
    ],
  ])('are left where something is missing: %s', (entry, why) => {
    const file = `{"mcpServers":{"s":${entry}}}`;
    const done = undoAll(file, json);
    expect(done?.servers).toEqual([{ name: 's', did: 'left', why: expect.stringContaining(why) }]);
    expect(done?.text).toBe(file);
  });

  it('are not what only looks like one', () => {
    const file =
      '{"mcpServers":{"s":{"command":"npx","args":["-y","longcall-other","wrap","--","x"]},"t":{"command":"npx","args":["-y","longcall","serve","x"]}}}';
    expect(undoAll(file, json)).toEqual({ text: file, servers: [] });
  });
});

// Whatever a file looks like: what is wrapped is undone to the letter, and nothing else of it changes.
describe('any file', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
  const key = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,6}$/);
  const strings = fc.dictionary(key, word, { maxKeys: 2, noNullPrototype: true });
  const command = fc.record(
    { command: word, args: fc.array(word, { maxLength: 3 }), env: strings, timeout: fc.nat(), cwd: word },
    { requiredKeys: ['command'], noNullPrototype: true },
  );
  const url = fc.record(
    { url: fc.webUrl(), headers: strings, type: fc.constantFrom('http', 'streamable-http'), trust: fc.boolean() },
    { requiredKeys: ['url'], noNullPrototype: true },
  );
  const servers = fc.dictionary(key, fc.oneof(command, url), { minKeys: 1, maxKeys: 4, noNullPrototype: true });
  const count = { all: 0, wrapped: 0 };
  afterEach(() => {
    expect(count.wrapped).toBe(count.all); // Or this would show little.
    Object.assign(count, { all: 0, wrapped: 0 });
  });
  const roundTrip = (text: string, syntax: Syntax): void => {
    const done = wrapAll(text, syntax, launcher);
    if (done === undefined) throw new Error('no servers');
    count.all += done.servers.length;
    count.wrapped += done.servers.filter(({ did }) => did === 'wrapped').length;
    const names = done.servers.filter(({ did }) => did === 'wrapped').map(({ name }) => name);
    const before = read(text, syntax);
    const after = read(done.text, syntax);
    for (const name of Object.keys(before)) {
      if (names.includes(name)) expect(JSON.stringify(after[name])).toContain('longcall@1.2.3');
      else expect(after[name]).toEqual(before[name]);
    }
    expect(undone(done.text, syntax)).toBe(text);
  };

  it('of JSON with comments', () => {
    const gaps = fc.array(fc.constantFrom('', ' ', '\n  ', '\r\n\t', ' /* "x": { */', ' // c, "y"\n', '  '), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(servers, gaps, fc.boolean(), fc.boolean(), (value, spaces, comma, bom) => {
        let n = 0;
        const gap = (): string => spaces[n++ % spaces.length] ?? '';
        const write = (one: unknown): string => {
          if (typeof one !== 'object' || one === null) return JSON.stringify(one);
          const parts = Array.isArray(one)
            ? one.map((item) => `${gap()}${write(item)}${gap()}`)
            : Object.entries(one).map(([k, v]) => `${gap()}${JSON.stringify(k)}${gap()}:${gap()}${write(v)}${gap()}`);
          const inner = `${parts.join(',')}${comma && parts.length > 0 ? `,${gap()}` : gap()}`;
          return Array.isArray(one) ? `[${inner}]` : `{${inner}}`;
        };
        roundTrip(`${bom ? '\ufeff' : ''}${gap()}${write({ a: [1, {}], mcpServers: value })}${gap()}`, json);
      }),
      { numRuns: 300 },
    );
  });

  it('of JSON that somebody has formatted since', () => {
    fc.assert(
      fc.property(servers, fc.constantFrom(undefined, 2, '\t'), (value, indent) => {
        const done = wrapAll(JSON.stringify({ mcpServers: value }), json, launcher)?.text ?? '';
        const formatted = JSON.stringify(JSON.parse(done), null, indent);
        expect(JSON.parse(undone(formatted, json))).toEqual({ mcpServers: value });
        count.all = count.wrapped = 1;
      }),
      { numRuns: 300 },
    );
  });

  it('of TOML, as tables, inline or with dotted keys', () => {
    const text = (one: unknown): string => JSON.stringify(one).replaceAll('\u007f', '\\u007f');
    const inline = (one: unknown): string => {
      if (Array.isArray(one)) return `[${one.map(text).join(', ')}]`;
      if (typeof one !== 'object' || one === null) return text(one);
      return `{ ${Object.entries(one)
        .map(([k, v]) => `${k} = ${inline(v)}`)
        .join(', ')} }`;
    };
    const styles = fc.array(fc.constantFrom('table', 'sub', 'inline', 'dotted'), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(servers, styles, fc.constantFrom('\n', '\r\n'), (value, style, eol) => {
        const [inlined, tables] = [['model = "x" # kept', '', '[mcp_servers]'], [] as string[]];
        Object.entries(value).forEach(([name, server], n) => {
          const pairs = Object.entries({
            ...server,
            headers: undefined,
            http_headers: (server as Servers[string]).headers,
          }).filter(([k, v]) => v !== undefined && k !== 'headers');
          if (style[n] === 'inline') inlined.push(`${name} = ${inline(Object.fromEntries(pairs))}`);
          else if (style[n] === 'dotted') inlined.push(...pairs.map(([k, v]) => `${name}.${k} = ${inline(v)}`));
          else {
            const below = pairs.filter(([, v]) => style[n] === 'sub' && typeof v === 'object' && !Array.isArray(v));
            tables.push(
              '',
              `[mcp_servers.${name}] # c`,
              ...pairs.filter((p) => !below.includes(p)).map(([k, v]) => `${k} = ${inline(v)}  # c`),
            );
            for (const [k, v] of below)
              tables.push(
                `[mcp_servers.${name}.${k}]`,
                ...Object.entries(v as object).map(([a, b]) => `${a} = ${inline(b)}`),
              );
          }
        });
        roundTrip([...inlined, ...tables].join(eol), toml);
      }),
      { numRuns: 300 },
    );
  });

  it('of YAML, in block or flow style', () => {
    fc.assert(
      fc.property(servers, fc.boolean(), fc.boolean(), fc.constantFrom('\n', '\r\n'), (value, flow, plain, eol) => {
        const text = (one: unknown): string =>
          plain && typeof one === 'string' && /^[a-z]+$/.test(one) && !/^(null|true|false|y|n|yes|no|on|off)$/.test(one)
            ? one
            : JSON.stringify(one);
        const lines = ['# first', 'GOOSE_MODE: auto', 'extensions:'];
        for (const [name, server] of Object.entries(value) as [string, Servers[string]][]) {
          const { command: cmd, url: uri, env: envs, type: _type, ...rest } = server;
          const all = {
            ...(cmd !== undefined && { type: 'stdio', cmd, args: [] }),
            ...(uri !== undefined && { type: 'streamable_http', uri }),
            ...rest,
            ...(envs !== undefined && { envs }),
          };
          lines.push(`  ${JSON.stringify(name)}:  # a server`);
          for (const [k, v] of Object.entries(all)) {
            const empty = typeof v === 'object' && v !== null && Object.keys(v).length === 0;
            if (typeof v !== 'object' || v === null) lines.push(`    ${k}: ${text(v)}  # c`);
            else if (flow || empty) lines.push(`    ${k}: ${JSON.stringify(v)}`);
            else if (Array.isArray(v)) lines.push(`    ${k}:`, ...v.map((item) => `    -  ${text(item)} # d`));
            else
              lines.push(`    ${k}:`, ...Object.entries(v).map(([a, b]) => `      ${JSON.stringify(a)}: ${text(b)}`));
          }
        }
        roundTrip([...lines, 'last: 1', ''].join(eol), yaml);
      }),
      { numRuns: 300 },
    );
  });
});
