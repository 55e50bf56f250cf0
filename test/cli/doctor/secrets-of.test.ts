import { describe, expect, it, onTestFinished } from 'vitest';
import { secretsOf } from '../../../src/cli/gateway/doctor/secrets-of.ts';
import { probeLocks } from '../../../src/store/sqlite/lock-probe.ts';
import { scratchFolder } from '../../support/stores.ts';

const command = (args: string[], env: Record<string, string> = {}) => secretsOf({ command: 'x', args, env });
const at = (url: string, headers: Record<string, string> = {}) =>
  secretsOf({ url, headers, forwardAuthorization: false });

describe('what is secret of an upstream', () => {
  it('is what the environment holds, but not where things are', () => {
    expect(command([], { API: 'abcdefgh', PATH: '/usr/bin:/bin', HOME: '/home/me', SHORT: 'true' })).toEqual([
      'abcdefgh',
    ]);
    expect(command([], { TOOL: process.execPath, GONE: '/a/secret/that/looks/like/a/path' })).toEqual([
      '/a/secret/that/looks/like/a/path',
    ]);
    expect(command([], { HTTPS_PROXY: 'http://me:password@proxy' })).toEqual(['http://me:password@proxy']);
  });

  it('is what options say by their names', () => {
    expect(
      command(['--token=abcdefgh', '--api-key', 'ijklmnop', '--name=somebody-else', '--verbose', 'run-this']),
    ).toEqual(['abcdefgh', 'ijklmnop']);
  });

  it('is what stands in headers and in an address', () => {
    expect(at('https://x/mcp', { Authorization: 'Bearer abcdefgh' })).toEqual(
      expect.arrayContaining(['Bearer abcdefgh', 'abcdefgh']),
    );
    const secrets = at('https://someuser:p%40ssword1@x/mcp?key=abc%2Fdefgh');
    expect(secrets).toEqual(expect.arrayContaining(['someuser', 'p%40ssword1', 'p@ssword1', 'abc/defgh']));
    expect(secrets).toContain('?key=abc%2Fdefgh');
  });
});

describe('a file system', () => {
  it('that keeps locks is told from one where nothing can be tried', async () => {
    const scratch = scratchFolder();
    onTestFinished(scratch.remove);
    expect(await probeLocks(scratch.path)).toBe('kept');
    expect(await probeLocks(`${scratch.path}/not-there`)).toEqual({ failed: expect.stringContaining('directory') });
  });
});
