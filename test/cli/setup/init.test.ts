import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOSTS, type HostName, type Machine } from '../../../src/cli/gateway/setup/hosts.ts';
import { type InitOptions, init } from '../../../src/cli/gateway/setup/init.ts';
import { version } from '../../../src/gateway/version.ts';
import { scratchFolder } from '../../support/stores.ts';
import { kept, longcall } from './command.ts';

let folder: ReturnType<typeof scratchFolder>;
let machine: Machine;
beforeEach(() => {
  folder = scratchFolder();
  machine = { platform: 'linux', home: join(folder.path, 'home'), cwd: join(folder.path, 'project'), env: {} };
  mkdirSync(machine.home);
  mkdirSync(machine.cwd);
});
afterEach(() => folder.remove());

const server = ['npx', '-y', '@scope/server-files@1.2.3', '/srv'];
const list = `["-y", "longcall@${version()}", "wrap", "--", "npx", "-y", "@scope/server-files@1.2.3", "/srv"]`;
const codex = ['command = "npx"', `args = ${list}`, 'startup_timeout_sec = 30', 'tool_timeout_sec = 300'];
const goose = (indent: string): string =>
  [
    'files:',
    '  name: files',
    '  description: Longcall',
    '  type: stdio',
    '  cmd: npx',
    `  args: ${list}`,
    '  enabled: true',
    '  timeout: 300',
  ]
    .map((line) => `${indent}${line}\n`)
    .join('');
const own = ['-y', `longcall@${version()}`, 'wrap', '--', ...server];
const url = 'http://127.0.0.1:7717/mcp';
const names = Object.keys(HOSTS) as HostName[];

async function run(client: HostName, options: Partial<InitOptions> = {}, command: readonly string[] = server) {
  const output = kept();
  const all: InitOptions = { client, scope: 'user', json: true, ...options };
  await init(all, options.url === undefined ? command : [], output.output, machine);
  const text = output.text.stdout;
  return all.json ? (JSON.parse(text) as Told) : ({ snippet: text } as Told);
}
interface Told {
  file: string;
  snippet: string;
  command?: string;
  written: boolean;
  changed: boolean;
  backup?: string;
  notes: string[];
}

/** The folder by which a host is known. */
function install(client: HostName, on: Machine = machine): string {
  const place = HOSTS[client].place('user', on);
  const file = place?.files.at(-1) ?? '';
  mkdirSync(client === 'claude-code' ? join(on.home, '.claude') : dirname(file), { recursive: true });
  return file;
}

describe('longcall init', () => {
  const reference = (name: string) => ['$', '{', name, '}'].join('');
  it.each<[HostName, string, unknown, unknown]>([
    [
      'claude-code',
      'home/.claude.json',
      { mcpServers: { files: { type: 'stdio', command: 'npx', args: own } } },
      { mcpServers: { longcall: { type: 'http', url, headers: { Authorization: `Bearer ${reference('TOKEN')}` } } } },
    ],
    [
      'vscode',
      'home/.config/Code/User/mcp.json',
      { servers: { files: { type: 'stdio', command: 'npx', args: own } } },
      { servers: { longcall: { type: 'http', url, headers: { Authorization: `Bearer ${reference('env:TOKEN')}` } } } },
    ],
    [
      'cursor',
      'home/.cursor/mcp.json',
      { mcpServers: { files: { command: 'npx', args: own } } },
      { mcpServers: { longcall: { url, headers: { Authorization: `Bearer ${reference('env:TOKEN')}` } } } },
    ],
    [
      'gemini',
      'home/.gemini/settings.json',
      { mcpServers: { files: { command: 'npx', args: own, timeout: 600_000 } } },
      {
        mcpServers: {
          longcall: { httpUrl: url, headers: { Authorization: `Bearer ${reference('TOKEN')}` }, timeout: 600_000 },
        },
      },
    ],
    [
      'opencode',
      'home/.config/opencode/opencode.json',
      { mcp: { files: { type: 'local', command: ['npx', ...own], enabled: true, timeout: 60_000 } } },
      {
        mcp: {
          longcall: {
            type: 'remote',
            url,
            headers: { Authorization: 'Bearer {env:TOKEN}' },
            enabled: true,
            timeout: 60_000,
          },
        },
      },
    ],
    [
      'codex',
      'home/.codex/config.toml',
      `[mcp_servers.files]\n${codex.join('\n')}\n`,
      [
        '[mcp_servers.longcall]',
        `url = "${url}"`,
        'bearer_token_env_var = "TOKEN"',
        'startup_timeout_sec = 30',
        'tool_timeout_sec = 300',
        '',
      ].join('\n'),
    ],
    [
      'goose',
      'home/.config/goose/config.yaml',
      `extensions:\n${goose('  ')}`,
      [
        'extensions:',
        '  longcall:',
        '    name: longcall',
        '    description: Longcall',
        '    type: streamable_http',
        `    uri: "${url}"`,
        '    headers:',
        `      Authorization: "Bearer ${reference('TOKEN')}"`,
        '    env_keys: ["TOKEN"]',
        '    enabled: true',
        '    timeout: 300',
        '',
      ].join('\n'),
    ],
  ])('prints for %s what its file takes, by command and by address', async (client, place, byCommand, byUrl) => {
    const told = await run(client);
    expect(told).toMatchObject({ file: join(folder.path, place), written: false, changed: false });
    const value = (snippet: string): unknown => (typeof byCommand === 'string' ? snippet : JSON.parse(snippet));
    expect(value(told.snippet)).toEqual(byCommand);
    expect(value((await run(client, { url, tokenEnv: 'TOKEN' })).snippet)).toEqual(byUrl);
    expect(readdirSync(machine.home)).toEqual([]);
  });

  it('puts a process in front of an address for Claude Desktop, whose file knows none', async () => {
    const told = await run('claude-desktop', { url });
    expect(JSON.parse(told.snippet)).toEqual({
      mcpServers: { longcall: { command: 'npx', args: ['-y', `longcall@${version()}`, 'wrap', '--url', url] } },
    });
    await expect(run('claude-desktop', { url, tokenEnv: 'T' })).rejects.toThrow('leave --token-env out');
  });

  it("prints Claude Code's own command, quoted for a shell", async () => {
    const told = await run('claude-code', { scope: 'project' }, ['node', "it's.js", 'a b']);
    expect(told.command).toBe(
      `claude mcp add --scope project it-s -- npx -y longcall@${version()} wrap -- node 'it'\\''s.js' 'a b'`,
    );
    expect((await run('claude-code', { url, tokenEnv: 'T' })).command).toBe(
      `claude mcp add --scope user --transport http longcall ${url} --header 'Authorization: Bearer ${reference('T')}'`,
    );
    expect((await run('cursor')).command).toBeUndefined();
  });

  it.each(names)('tells the person at the terminal where it goes and what to do then (%s)', async (client) => {
    const { snippet: page } = await run(client, { json: false });
    const host = HOSTS[client];
    expect(page).toContain(`${host.title} reads ${folder.path}`);
    for (const line of [...host.limits, host.afterwards]) expect(page).toContain(line);
  });

  it.each(names)('merges into the file of %s, once, and keeps a copy', async (client) => {
    const file = install(client);
    const first = await run(client, { write: true });
    expect(first).toMatchObject({ file, changed: true, written: true });
    expect(first.backup).toBeUndefined();
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([first.snippet, 0o600]);
    expect(await run(client, { write: true })).toMatchObject({ changed: false, written: false });
    const other = await run(client, { write: true, name: 'other' }, ['other']);
    expect(readFileSync(other.backup ?? '', 'utf8')).toBe(first.snippet);
    expect(readFileSync(file, 'utf8')).toContain('files');
    expect(readFileSync(file, 'utf8')).toContain('other');
  });

  const json = (indent: string, eol = '\n'): string => {
    const lines = [
      '"files": {',
      '  "command": "npx",',
      '  "args": [',
      ...own.map((word) => `    ${JSON.stringify(word)},`),
    ];
    lines[lines.length - 1] = lines.at(-1)?.slice(0, -1) ?? '';
    const unit = indent.startsWith('\t') ? '\t' : '  ';
    return [...lines, '  ]', '}'].map((line) => `${indent}${line.replaceAll(/ {2}(?=.*\S)/g, unit)}`).join(eol);
  };
  it.each(
    [
      [
        'between comments and a last comma',
        'cursor' as HostName,
        '\ufeff{\r\n\t// mine: ünï\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "x"}, // c\r\n\t},\r\n\t"z": [1,\t2]\r\n}\r\n',
        (text: string) => text.replace('// c\r\n', `// c\r\n${json('\t\t', '\r\n')},\r\n`),
      ],
      [
        'after a comment',
        'cursor' as HostName,
        '{\n  "mcpServers": {\n    "a": {} // c\n  }\n}',
        (text: string) => text.replace('{} // c\n', `{}, // c\n${json('    ')}\n`),
      ],
      [
        'on one line',
        'cursor' as HostName,
        '{"a":1,"mcpServers":{"a":{}}}',
        (text: string) => text.replace('{}}', `{}, "files": ${JSON.stringify({ command: 'npx', args: own })}}`),
      ],
      [
        'into an empty map',
        'cursor' as HostName,
        '{\n  "mcpServers": {}\n}',
        (text: string) => text.replace('{}', `{\n${json('    ')}\n  }`),
      ],
      [
        'at the end of TOML',
        'codex' as HostName,
        '# mine\r\nmodel = "x" # c\r\n[a]\r\nb = 1',
        (text: string) => `${text}\r\n\r\n[mcp_servers.files]\r\n${codex.join('\r\n')}\r\n`,
      ],
      [
        'among others of YAML',
        'goose' as HostName,
        'A: 1 # c\nextensions:\n    a:\n        type: builtin # d\n        x: |\n          text\n\nZ: 2\n',
        (text: string) => text.replace('text\n', `text\n${goose('    ')}`),
      ],
      [
        'under a key without anything',
        'goose' as HostName,
        'A: 1\nextensions: # none yet\nZ: 2\n',
        (text: string) => text.replace('yet\n', `yet\n${goose('  ')}`),
      ],
      ['after the last line', 'goose' as HostName, 'A: 1', (text: string) => `${text}\nextensions:\n${goose('  ')}`],
    ].map(
      ([name, client, text, put]) => [client, name, text, put] as [HostName, string, string, (text: string) => string],
    ),
  )('leaves what else stands in the file of %s as it is, %s', async (client, _name, text, put) => {
    const file = install(client);
    writeFileSync(file, text);
    await run(client, { write: true });
    expect(readFileSync(file, 'utf8')).toBe(put(text));
    expect((await run(client, { write: true })).changed).toBe(false);
  });

  it.each(['codex', 'goose', 'cursor', 'opencode'] as const)(
    'replaces what is not ours only with --force, and ours without (%s)',
    async (client) => {
      const file = install(client);
      const others = {
        codex: '[mcp_servers.files]\ncommand = "mine"\n\n[mcp_servers.files.env]\nA = "1"\n\n[last]\nx = 1\n',
        goose: 'extensions:\n  files:\n    cmd: mine\n    args: []\nlast: 1\n',
        cursor: '{"mcpServers":{"files":{"command":"mine"}},"last":1}',
        opencode: '{"mcp":{"files":{"type":"local","command":["mine"]}},"last":1}',
      };
      writeFileSync(file, others[client]);
      await expect(run(client, { write: true })).rejects.toMatchObject({
        exitCode: 2,
        message: `${file}: has another server "files"; choose a --name, or replace it with --force`,
      });
      expect(readFileSync(file, 'utf8')).toBe(others[client]);
      await run(client, { write: true, force: true });
      const forced = readFileSync(file, 'utf8');
      expect(forced).not.toContain('mine');
      expect(forced).toContain('last');
      const again = await run(client, { write: true, name: 'files' }, ['another', 'server']);
      expect(again.changed).toBe(true);
      expect(readFileSync(file, 'utf8')).toContain('another');
      expect(readFileSync(file, 'utf8')).not.toContain('@scope/server-files');
    },
  );

  it('keeps what was added to an entry of ours', async () => {
    const file = install('cursor');
    await run('cursor', { write: true });
    const value = JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: { files: { env?: object } } };
    value.mcpServers.files.env = { KEY: 'v' };
    writeFileSync(file, JSON.stringify(value));
    expect((await run('cursor', { write: true })).changed).toBe(false);
    const other = await run('cursor', { write: true, name: 'files' }, ['other']);
    expect(other.changed).toBe(true);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ mcpServers: { files: { env: { KEY: 'v' } } } });
    expect(statSync(other.backup ?? '').mode & 0o777).toBe(0o600);
  });

  it('follows the form that a file of OpenCode has, and its name', async () => {
    const file = join(dirname(install('opencode')), 'opencode.jsonc');
    writeFileSync(file, '{"mcp":{"servers":{"a":{"type":"local","command":["x"]}}}}');
    await run('opencode', { write: true });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      mcp: {
        servers: {
          a: { type: 'local', command: ['x'] },
          files: { type: 'local', command: ['npx', ...own], timeout: { startup: 60_000 } },
        },
      },
    });
  });

  it.each(names)('says when %s does not seem to be installed, and writes where it is told to', async (client) => {
    await expect(run(client, { write: true })).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/does not seem to be installed: .*; say with --file where its configuration is$/),
    });
    expect(readdirSync(machine.home)).toEqual([]);
    const file = join(folder.path, 'elsewhere.conf');
    expect(await run(client, { write: true, file })).toMatchObject({ file, written: true });
    expect(existsSync(file)).toBe(true);
    await expect(run(client, { write: true, file: join(folder.path, 'none', 'x') })).rejects.toMatchObject({
      exitCode: 3,
    });
  });

  it('writes for a project into its folder, as others may read it', async () => {
    const told = await run('vscode', { scope: 'project', write: true });
    expect(told.file).toBe(join(machine.cwd, '.vscode', 'mcp.json'));
    expect(statSync(told.file).mode & 0o777).toBe(0o666 & ~process.umask());
    await expect(run('goose', { scope: 'project' })).rejects.toThrow('Goose (goose) has no file of a project');
    await expect(run('claude-desktop', { scope: 'project' })).rejects.toThrow('has no file of a project');
  });

  it('leaves alone a file that is not what it should be, and tells where', async () => {
    const file = install('cursor');
    writeFileSync(file, '{\n  "mcpServers": {\n    "a" {}\n  }\n}');
    await expect(run('cursor', { write: true })).rejects.toThrow(
      `${file}: is no JSON: line 3, column 9: colon expected`,
    );
    writeFileSync(file, '{"mcpServers": []}');
    await expect(run('cursor', { write: true })).rejects.toThrow('nothing is written');
    const codex = install('codex');
    writeFileSync(codex, 'mcp_servers = { a = { command = "x" } }\n');
    await expect(run('codex', { write: true })).rejects.toThrow('nothing is written');
    const goose = install('goose');
    writeFileSync(goose, 'extensions: {a: {cmd: x, args: []}}\n');
    await expect(run('goose', { write: true })).rejects.toThrow('is written between braces; nothing is written');
    expect(readdirSync(dirname(file))).toEqual(['mcp.json']);
  });

  it.each([
    [['npx', '-y', '@scope/server-files@1.2.3', '/srv'], 'files'],
    [['uvx', 'mcp-server-git'], 'git'],
    [['docker', 'run', '-i', '--rm', 'ghcr.io/x/github-mcp-server'], 'github'],
    [['node', '/srv/jobs/index.js'], 'index'],
    [['python3', '-m', 'my_server'], 'my_server'],
    [['C:\\tools\\tool.exe', 'x'], 'tool'],
    [['npx', 'server'], 'server'],
    [['bun', 'x', 'ünï'], 'n'],
    [['...'], 'longcall'],
  ])('calls the server of %j by its name', async (command, name) => {
    expect(
      Object.keys((JSON.parse((await run('cursor', {}, command)).snippet) as { mcpServers: object }).mcpServers),
    ).toEqual([name]);
  });

  it('notes a path that a host would look for elsewhere', async () => {
    expect((await run('cursor', {}, ['node', './s.js'])).notes).toEqual([
      './s.js is looked for in the folder that the host starts in: give its whole path.',
    ]);
    expect((await run('cursor', { scope: 'project' }, ['node', './s.js'])).notes).toEqual([]);
  });

  it('refuses what makes no sense', async () => {
    const refused = async (...args: string[]) => {
      const { code, stderr } = await longcall('init', ...args);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused('--client', 'emacs', '--', 'x')).toContain('Allowed choices are claude-code, claude-desktop');
    expect(await refused('--', 'x')).toContain('--client');
    expect(await refused('--client', 'cursor')).toContain('give the command of a server after --, or the --url');
    expect(await refused('--client', 'cursor', '--url', url, '--', 'x')).toContain('give the command of a server');
    expect(await refused('--client', 'cursor', '--url', 'ftp://x')).toContain('--url: expected an http');
    expect(await refused('--client', 'cursor', '--url', 'http://a:b@x')).toContain('no passwords in an address');
    expect(await refused('--client', 'cursor', '--token-env', 'T', '--', 'x')).toContain('--token-env: is for --url');
    expect(await refused('--client', 'cursor', '--token-env', 'a b', '--url', url)).toContain('name of a variable');
    expect(await refused('--client', 'cursor', '--name', 'a b', '--', 'x')).toContain('--name: expected letters');
    expect(await refused('--client', 'cursor', '--scope', 'here', '--', 'x')).toContain(
      'Allowed choices are user, project',
    );
  });

  it('cannot write where it may not', async () => {
    const file = install('cursor');
    writeFileSync(file, '{}');
    chmodSync(dirname(file), 0o500);
    try {
      if (process.getuid?.() === 0) return; // Who may everything is not stopped by a mode.
      await expect(run('cursor', { write: true })).rejects.toMatchObject({ exitCode: 5 });
    } finally {
      chmodSync(dirname(file), 0o700);
    }
  });
});

describe('places of hosts', () => {
  const home = { darwin: '/Users/me', win32: 'C:\\Users\\me', linux: '/home/me' };
  it.each<[keyof typeof home, HostName, string | undefined, string | undefined]>([
    ['darwin', 'claude-code', '/Users/me/.claude.json', '/p/.mcp.json'],
    ['darwin', 'claude-desktop', '/Users/me/Library/Application Support/Claude/claude_desktop_config.json', undefined],
    ['darwin', 'vscode', '/Users/me/Library/Application Support/Code/User/mcp.json', '/p/.vscode/mcp.json'],
    ['darwin', 'cursor', '/Users/me/.cursor/mcp.json', '/p/.cursor/mcp.json'],
    ['darwin', 'codex', '/Users/me/.codex/config.toml', '/p/.codex/config.toml'],
    ['darwin', 'gemini', '/Users/me/.gemini/settings.json', '/p/.gemini/settings.json'],
    ['darwin', 'goose', '/Users/me/.config/goose/config.yaml', undefined],
    ['darwin', 'opencode', '/Users/me/.config/opencode/opencode.json', '/p/opencode.json'],
    ['linux', 'claude-desktop', '/home/me/.config/Claude/claude_desktop_config.json', undefined],
    ['linux', 'vscode', '/home/me/.config/Code/User/mcp.json', '/p/.vscode/mcp.json'],
    ['win32', 'claude-code', 'C:\\Users\\me\\.claude.json', 'p:\\.mcp.json'],
    ['win32', 'claude-desktop', 'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json', undefined],
    ['win32', 'vscode', 'C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json', 'p:\\.vscode\\mcp.json'],
    ['win32', 'cursor', 'C:\\Users\\me\\.cursor\\mcp.json', 'p:\\.cursor\\mcp.json'],
    ['win32', 'goose', 'C:\\Users\\me\\AppData\\Roaming\\Block\\goose\\config\\config.yaml', undefined],
    ['win32', 'opencode', 'C:\\Users\\me\\.config\\opencode\\opencode.json', 'p:\\opencode.json'],
  ])('are, on %s, those of %s', (platform, client, user, project) => {
    const on: Machine = { platform, home: home[platform], cwd: platform === 'win32' ? 'p:\\' : '/p', env: {} };
    expect(HOSTS[client].place('user', on)?.files.at(-1)).toBe(user);
    expect(HOSTS[client].place('project', on)?.files.at(-1)).toBe(project);
  });

  it('follow the variables that hosts follow', () => {
    const on = (env: Record<string, string>): Machine => ({ platform: 'linux', home: '/h', cwd: '/p', env });
    const place = (client: HostName, env: Record<string, string>) => HOSTS[client].place('user', on(env))?.files.at(-1);
    expect(place('codex', { CODEX_HOME: '/c' })).toBe('/c/config.toml');
    expect(place('claude-code', { CLAUDE_CONFIG_DIR: '/c' })).toBe('/c/.claude.json');
    expect(place('goose', { XDG_CONFIG_HOME: '/x' })).toBe('/x/goose/config.yaml');
    expect(place('opencode', { XDG_CONFIG_HOME: '/x' })).toBe('/x/opencode/opencode.json');
    expect(place('vscode', { XDG_CONFIG_HOME: '/x' })).toBe('/x/Code/User/mcp.json');
  });

  it('has Claude Code on Windows start npx by its shell', async () => {
    const on: Machine = { platform: 'win32', home: 'C:\\Users\\me', cwd: 'C:\\p', env: {} };
    const { output, text } = kept();
    await init({ client: 'claude-code', scope: 'user', json: true }, ['node', 'C:\\a b.js'], output, on);
    const told = JSON.parse(text.stdout) as Told;
    expect(told.command).toBe(
      `claude mcp add --scope user a-b -- cmd /c npx -y longcall@${version()} wrap -- node "C:\\a b.js"`,
    );
  });
});
