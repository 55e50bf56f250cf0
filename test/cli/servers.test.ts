import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recall, remember } from '../../src/cli/calls/remembered.ts';
import { findServer } from '../../src/cli/calls/servers.ts';
import { scratchFolder } from '../support/stores.ts';

let folder: ReturnType<typeof scratchFolder>;
let kept: string;
beforeEach(() => {
  folder = scratchFolder();
  kept = join(folder.path, 'servers');
});
afterEach(() => folder.remove());

const reference = (name: string) => ['$', '{', name, '}'].join('');

function config(content: object): string {
  const file = join(folder.path, 'mcp.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

describe('servers of a host', () => {
  it.each(['mcpServers', 'servers'])('are read from its file (%s), variables replaced', async (form) => {
    const file = config({
      [form]: {
        far: { type: 'http', url: 'https://x.example/mcp', headers: { Authorization: `Bearer ${reference('env:T')}` } },
        near: {
          command: 'node',
          args: [reference('DIR'), reference('NONE:-else')],
          env: { K: reference('T') },
          cwd: '/',
        },
      },
    });
    const env = { T: 'secret', DIR: '/srv' };
    expect(await findServer('far', { config: file }, kept, env)).toMatchObject({
      target: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer secret' } },
      remember: { config: file },
    });
    expect((await findServer('near', { config: file }, kept, env)).target).toEqual({
      command: 'node',
      args: ['/srv', 'else'],
      env: { K: 'secret' },
      cwd: '/',
    });
  });

  it('says what is wrong with them, and where', async () => {
    const file = config({
      mcpServers: { a: { url: reference('GONE') }, b: { url: 'ftp://x' }, c: {}, d: { type: 'sse', url: 'http://x' } },
    });
    const find = (name: string) => findServer(name, { config: file }, kept, {});
    await expect(find('a')).rejects.toThrow('a.url: the environment variable GONE is not set');
    await expect(find('b')).rejects.toThrow('b.url: expected an http:// or https:// address');
    await expect(find('c')).rejects.toThrow('c: expected "url" or "command"');
    await expect(find('d')).rejects.toThrow('d.type: "sse"');
    await expect(find('e')).rejects.toThrow('has a, b, c, d');
    await expect(findServer('a', { config: join(folder.path, 'none') }, kept, {})).rejects.toThrow('ENOENT');
  });
});

describe('servers of any host', () => {
  it.each<[string, string, object]>([
    [
      'mcp.json',
      `{\n// mine\n"mcpServers": {"s": {"httpUrl": "https://x", "headers": {"A": "${reference('T')}"},}}}`,
      { url: 'https://x', headers: { A: 'secret' } },
    ],
    [
      'opencode.json',
      '{"mcp":{"s":{"type":"local","command":["node","{env:T}"],"environment":{"K":"{env:T}"},"enabled":true}}}',
      { command: 'node', args: ['secret'], env: { K: 'secret' } },
    ],
    [
      'opencode.jsonc',
      '{"mcp":{"servers":{"s":{"type":"remote","url":"https://x"}}}}',
      { url: 'https://x', headers: {} },
    ],
    [
      'config.toml',
      '[mcp_servers.s]\nurl = "https://x"\nbearer_token_env_var = "T"\nenv_http_headers = { B = "T" }\nhttp_headers.C = "d"',
      { url: 'https://x', headers: { Authorization: 'Bearer secret', B: 'secret', C: 'd' } },
    ],
    [
      'codex.toml',
      '[mcp_servers.s]\ncommand = "x"\nargs = ["y"]\nenv_vars = ["T"]\nenv = { K = "v" }',
      { command: 'x', args: ['y'], env: { K: 'v', T: 'secret' } },
    ],
    [
      'config.yaml',
      'extensions:\n  s:\n    type: stdio\n    cmd: x\n    args: [y]\n    envs: {K: v}\n    env_keys: [T]\n',
      { command: 'x', args: ['y'], env: { K: 'v', T: 'secret' } },
    ],
    [
      'goose.yml',
      `extensions:\n  s:\n    type: streamable_http\n    uri: https://x\n    headers:\n      A: Bearer ${reference('T')}\n    env_keys: [T]\n`,
      { url: 'https://x', headers: { A: 'Bearer secret' } },
    ],
  ])('are read from %s', async (name, text, target) => {
    const file = join(folder.path, name);
    writeFileSync(file, text);
    expect((await findServer('s', { config: file }, kept, { T: 'secret' })).target).toEqual(target);
  });

  it('are told of with line and column where the file is broken', async () => {
    const file = join(folder.path, 'mcp.json');
    writeFileSync(file, '{\n  "mcpServers": }');
    await expect(findServer('s', { config: file }, kept, {})).rejects.toMatchObject({
      exitCode: 2,
      message: `${file}: is no JSON: line 2, column 17: value expected`,
    });
    writeFileSync(file, '{}');
    await expect(findServer('s', { config: file }, kept, {})).rejects.toThrow('expected servers under "mcpServers" or');
  });
});

describe('what is remembered of servers', () => {
  it('finds them again, in files for their owner only, without a secret', async () => {
    const header = [`Authorization: Bearer ${reference('T')}`];
    const url = 'https://x.example/mcp';
    const { remember: server } = await findServer('../odd', { url, header }, kept, { T: 'secret' });
    remember(kept, '../odd', server as NonNullable<typeof server>);
    const [file = '', ...others] = readdirSync(kept);
    expect(others).toEqual([]);
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(kept, file), 'utf8')).not.toContain('secret');
    expect((await findServer('../odd', {}, kept, { T: 'other' })).target).toEqual({
      url,
      headers: { Authorization: 'Bearer other' },
    });
  });

  it.each([
    [{ url: 'https://x.example/mcp', header: ['X-Key: abc'] }, 'header "X-Key"'],
    [{ url: 'https://x.example/mcp?api_key=abc' }, 'address looks like'],
    [{ command: ['server', '--token=abc'] }, 'argument of its command looks like a secret'],
  ])('is nothing where there might be a secret: %j', async (options, why) => {
    const found = await findServer('x', options, kept, {});
    expect(found.remember).toBeUndefined();
    expect(found.notRemembered).toContain(why);
  });

  it('refuses a password in an address, and two ways at once', async () => {
    await expect(findServer('x', { url: 'https://a:b@x.example' }, kept, {})).rejects.toThrow(
      'no passwords in an address',
    );
    await expect(findServer('x', { url: 'https://x', command: ['y'] }, kept, {})).rejects.toThrow('not both');
    await expect(findServer('x', {}, kept, {})).rejects.toThrow('no server "x" is known here');
  });

  it('says which file is broken', () => {
    mkdirSync(kept);
    writeFileSync(join(kept, 'x.json'), '{');
    expect(() => recall(kept, 'x')).toThrow('x.json: does not say where a server is');
  });
});
