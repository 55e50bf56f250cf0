import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { version } from '../../../src/gateway/version.ts';
import { scratchFolder } from '../../support/stores.ts';
import { longcall } from './command.ts';

let folder: ReturnType<typeof scratchFolder>;
let file: string;
beforeEach(() => {
  folder = scratchFolder();
  file = join(folder.path, 'mcp.json');
});
afterEach(() => folder.remove());

const config = `{
  "mcpServers": {
    "gh": {
      "type": "http",
      "url": "https://gh.example/mcp",
      "headers": { "Authorization": "Bearer hidden-2" }
    },
    "db": {
      "command": "npx",
      "args": ["-y", "db", "--token", "hidden-3", "--password=hidden-4"], // mine
      "env": { "KEY": "hidden-5" }
    },
    "key": { "url": "https://key.example/mcp?api_key=hidden-1" }, "old": { "type": "sse", "url": "https://old.example/sse" }
  }
}
`;

describe('longcall wrap-config', () => {
  it('shows what would change, without secrets, and writes nothing', async () => {
    writeFileSync(file, config);
    const { code, stdout } = await longcall('wrap-config', file);
    expect(code).toBe(0);
    expect(stdout).toContain(`--- ${file}`);
    expect(stdout).toContain('-      "args": ["-y", "db", "--token", "***", "***"], // mine');
    expect(stdout).toContain(
      `+      "args": ["-y", "longcall@${version()}", "wrap", "--", "npx", "-y", "db", "--token", "***", "***"], // mine`,
    );
    expect(stdout).toContain('wrapped gh\nwrapped db\nleft    key: its address holds');
    expect(stdout).toContain('nothing is written yet');
    expect(stdout).not.toContain('hidden');
    expect([readdirSync(folder.path), readFileSync(file, 'utf8')]).toEqual([['mcp.json'], config]);
  });

  it('writes, keeps a copy, does nothing the second time, and undoes to the letter, twice', async () => {
    writeFileSync(file, config);
    const first = await longcall('wrap-config', file, '--write', '--json');
    const told = JSON.parse(first.stdout) as { backup: string; changed: boolean; written: boolean; servers: object[] };
    expect(told).toMatchObject({ file, changed: true, written: true });
    expect(told.servers[0]).toEqual({ name: 'gh', did: 'wrapped' });
    expect(readFileSync(told.backup, 'utf8')).toBe(config);
    expect(first.stdout).not.toContain('hidden');
    const then = readFileSync(file, 'utf8');
    expect(then).not.toBe(config);

    const second = await longcall('wrap-config', file, '--write');
    expect(second.stdout).toContain(`nothing to do: ${file} is as it was`);
    expect([readFileSync(file, 'utf8'), readdirSync(folder.path).length]).toEqual([then, 2]);

    const only = await longcall('wrap-config', file, '--undo', '--only', 'gh', '--write', '--json');
    expect(JSON.parse(only.stdout)).toMatchObject({ servers: [{ name: 'gh', did: 'undone' }] });
    expect((await longcall('wrap-config', file, '--undo', '--write')).stdout).toMatch(/^undone {2}db\nwritten: /);
    expect(readFileSync(file, 'utf8')).toBe(config);
    expect((await longcall('wrap-config', file, '--undo', '--write')).stdout).toContain('nothing to undo');
    expect(readFileSync(file, 'utf8')).toBe(config);
  });

  it('runs the program that --bin names', async () => {
    writeFileSync(file, '{"mcpServers":{"a":{"command":"x","args":[]}}}');
    await longcall('wrap-config', file, '--write', '--bin', '/usr/local/bin/longcall');
    expect(readFileSync(file, 'utf8')).toBe(
      '{"mcpServers":{"a":{"command":"/usr/local/bin/longcall","args":["wrap", "--", "x"]}}}',
    );
    const { code, stderr } = await longcall('wrap-config', file, '--bin', 'other');
    expect([code, stderr]).toEqual([2, 'longcall: --bin: expected longcall, or a path that ends so, got "other"\n']);
  });

  it.each([
    ['{"mcpServers": {"a": }}', 2, 'is no JSON: line 1, column 22: value expected'],
    ['{\n  "mcpServers": {},,\n}', 2, 'is no JSON: line 2, column 20: '],
    ['{"other":{}}', 2, 'expected servers under "mcpServers" or "servers" or "mcp.servers" or "mcp"'],
    ['[1]', 2, 'expected servers under'],
  ])('leaves alone what is no such file: %s', async (text, exit, message) => {
    writeFileSync(file, text);
    const { code, stderr } = await longcall('wrap-config', file, '--write');
    expect([code, stderr]).toEqual([exit, expect.stringContaining(`longcall: ${file}: ${message}`)]);
    expect([readdirSync(folder.path), readFileSync(file, 'utf8')]).toEqual([['mcp.json'], text]);
  });

  it('says where a file of TOML or YAML is wrong', async () => {
    const [codex, goose] = [join(folder.path, 'config.toml'), join(folder.path, 'config.yaml')];
    writeFileSync(codex, '[mcp_servers.a]\ncommand = = 1\n');
    writeFileSync(goose, 'extensions:\n  a: {cmd: x\n');
    expect((await longcall('wrap-config', codex)).stderr).toMatch(/is no TOML: line 2, column \d+: /);
    expect((await longcall('wrap-config', goose)).stderr).toMatch(/is no YAML: line \d, column \d+: /);
  });

  it('has exit codes for what is not there', async () => {
    expect(await longcall('wrap-config', file)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no such file'),
    });
    writeFileSync(file, config);
    expect(await longcall('wrap-config', file, '--only', 'none')).toMatchObject({
      code: 3,
      stderr: `longcall: ${file}: no server "none"; there are gh, db, key, old\n`,
    });
    expect(await longcall('wrap-config')).toMatchObject({ code: 2 });
    expect(await longcall('wrap-config', folder.path)).toMatchObject({ code: 5 });
  });
});
