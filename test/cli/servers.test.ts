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
  it.each(['mcpServers', 'servers'])('are read from its file (%s), variables replaced', (form) => {
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
    expect(findServer('far', { config: file }, kept, env)).toMatchObject({
      target: { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer secret' } },
      remember: { config: file },
    });
    expect(findServer('near', { config: file }, kept, env).target).toEqual({
      command: 'node',
      args: ['/srv', 'else'],
      env: { K: 'secret' },
      cwd: '/',
    });
  });

  it('says what is wrong with them, and where', () => {
    const file = config({
      mcpServers: { a: { url: reference('GONE') }, b: { url: 'ftp://x' }, c: {}, d: { type: 'sse', url: 'http://x' } },
    });
    const find = (name: string) => () => findServer(name, { config: file }, kept, {});
    expect(find('a')).toThrow('a.url: the environment variable GONE is not set');
    expect(find('b')).toThrow('b.url: expected an http:// or https:// address');
    expect(find('c')).toThrow('c: expected "url" or "command"');
    expect(find('d')).toThrow('d.type: "sse"');
    expect(find('e')).toThrow('has a, b, c, d');
    expect(() => findServer('a', { config: join(folder.path, 'none') }, kept, {})).toThrow('ENOENT');
  });
});

describe('what is remembered of servers', () => {
  it('finds them again, in files for their owner only, without a secret', () => {
    const header = [`Authorization: Bearer ${reference('T')}`];
    const url = 'https://x.example/mcp';
    const { remember: server } = findServer('../odd', { url, header }, kept, { T: 'secret' });
    remember(kept, '../odd', server as NonNullable<typeof server>);
    const [file = '', ...others] = readdirSync(kept);
    expect(others).toEqual([]);
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    expect(statSync(join(kept, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(kept, file), 'utf8')).not.toContain('secret');
    expect(findServer('../odd', {}, kept, { T: 'other' }).target).toEqual({
      url,
      headers: { Authorization: 'Bearer other' },
    });
  });

  it.each([
    [{ url: 'https://x.example/mcp', header: ['X-Key: abc'] }, 'header "X-Key"'],
    [{ url: 'https://x.example/mcp?api_key=abc' }, 'address looks like'],
    [{ command: ['server', '--token=abc'] }, 'argument of its command looks like a secret'],
  ])('is nothing where there might be a secret: %j', (options, why) => {
    const found = findServer('x', options, kept, {});
    expect(found.remember).toBeUndefined();
    expect(found.notRemembered).toContain(why);
  });

  it('refuses a password in an address, and two ways at once', () => {
    expect(() => findServer('x', { url: 'https://a:b@x.example' }, kept, {})).toThrow('no passwords in an address');
    expect(() => findServer('x', { url: 'https://x', command: ['y'] }, kept, {})).toThrow('not both');
    expect(() => findServer('x', {}, kept, {})).toThrow('no server "x" is known here');
  });

  it('says which file is broken', () => {
    mkdirSync(kept);
    writeFileSync(join(kept, 'x.json'), '{');
    expect(() => recall(kept, 'x')).toThrow('x.json: does not say where a server is');
  });
});
