import { execFile } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchFolder } from '../support/stores.ts';

// The built command as a process of its own, whose home is a folder of ours.
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: ReturnType<typeof scratchFolder>;
beforeEach(() => {
  folder = scratchFolder();
});
afterEach(() => folder.remove());

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: folder.path, USERPROFILE: folder.path };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { cwd: folder.path, env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const files: [string, string, string][] = [
  ['mcp.json', '{ "mcpServers": { "a": { "command": "x", "args": ["y"] } } } // c\n', '"-y", "longcall@'],
  ['opencode.jsonc', '{"mcp":{"a":{"type":"remote","url":"https://x","headers":{"A":"hidden"}}}}', '"--header-env"'],
  ['config.toml', '[mcp_servers.a]\nurl = "https://x" # c\nbearer_token_env_var = "T"\n', 'env_vars = ["T"]'],
  ['config.yaml', 'extensions:\n  a:\n    type: stdio\n    cmd: x # c\n    args: []\n', 'cmd: "npx" # c'],
];

describe('the files of hosts, by the built command', () => {
  it.each(files)('%s is put behind the gateway, through a link, and back', async (name, text, put) => {
    const [target, link] = [join(folder.path, `real-${name}`), join(folder.path, name)];
    writeFileSync(target, text);
    symlinkSync(target, link);
    const shown = await run('wrap-config', link);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).not.toContain('hidden');
    expect(readFileSync(target, 'utf8')).toBe(text);
    expect(await run('wrap-config', link, '--write')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(target, 'utf8')).toContain(put);
    expect(await run('wrap-config', link, '--undo', '--write')).toMatchObject({ code: 0, stderr: '' });
    expect([readFileSync(target, 'utf8'), lstatSync(link).isSymbolicLink()]).toEqual([text, true]);
  });

  it('a host is set up in its home, and not twice', async () => {
    const args = ['init', '--client', 'codex', '--write', '--', 'node', 's.js', '--', 'more'];
    expect(await run(...args)).toMatchObject({ code: 3, stderr: expect.stringContaining('not seem to be installed') });
    mkdirSync(join(folder.path, '.codex'));
    expect(await run(...args)).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(folder.path, '.codex', 'config.toml'), 'utf8')).toContain(
      '"wrap", "--", "node", "s.js", "--", "more"]',
    );
    expect((await run(...args)).stdout).toContain('nothing to do');
  });
});
