import { posix, win32 } from 'node:path';
import { at, type Plain, type Syntax, type Tree } from './forms/tree.ts';

/** What a place depends on. */
export interface Machine {
  platform: NodeJS.Platform;
  home: string;
  /** The project's folder. */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** What a host is to reach: our command, or a gateway that listens. */
export type Reached =
  | { command: string; args: readonly string[] }
  /** `tokenEnv`: the variable that holds the gateway's token. */
  | { url: string; tokenEnv?: string };

export type Scope = 'user' | 'project';

export interface HostPlace {
  /** Where its servers are kept; of several names the first that is there, else the last. */
  files: readonly string[];
  /** There only where the host is. */
  signs: readonly string[];
}

export interface Host {
  title: string;
  syntax: Syntax['name'];
  /** Undefined: the host has no such file. */
  place(scope: Scope, machine: Machine): HostPlace | undefined;
  /** Where in the file servers are. */
  path(root: Tree | undefined): readonly string[];
  /** Undefined: not by this way. */
  entry(reached: Reached, name: string, path: readonly string[]): { [key: string]: Plain } | undefined;
  /** What its time-outs mean, and why the entry sets them as it does. */
  limits: readonly string[];
  /** What makes it read the file. */
  afterwards: string;
}

const reference = (name: string): string => `\${${name}}`;
const envReference = (name: string): string => `\${env:${name}}`;
const bearer = (token: string | undefined): { headers?: Plain } =>
  token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } };
const tokenOf = ({ tokenEnv }: { tokenEnv?: string }, refer: (name: string) => string): string | undefined =>
  tokenEnv === undefined ? undefined : refer(tokenEnv);

/** `command` and `args`, or a URL in the way of the host. */
function common(
  byUrl: (reached: Extract<Reached, { url: string }>) => { [key: string]: Plain },
  also: { [key: string]: Plain } = {},
  type?: string,
): Host['entry'] {
  return (reached) => ({
    ...('url' in reached
      ? byUrl(reached)
      : { ...(type !== undefined && { type }), command: reached.command, args: reached.args }),
    ...also,
  });
}

/** Where programs keep what is a user's: `Application Support`, `AppData` or `.config`. */
function configFolder({ platform, home, env }: Machine, ...names: string[]): string {
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', ...names);
  if (platform === 'win32') return win32.join(env.APPDATA ?? win32.join(home, 'AppData', 'Roaming'), ...names);
  return posix.join(xdgFolder(home, env), ...names);
}

function xdgFolder(home: string, env: Machine['env']): string {
  const folder = env.XDG_CONFIG_HOME;
  return folder !== undefined && posix.isAbsolute(folder) ? folder : posix.join(home, '.config');
}

function joined({ platform }: Machine, ...names: string[]): string {
  return platform === 'win32' ? win32.join(...names) : posix.join(...names);
}

/** A folder of the host's own in the user's home, and one of that name in a project. */
function dotFolder(folder: string, file: string, variable?: string): Host['place'] {
  return (scope, machine) => {
    const { home, cwd, env } = machine;
    if (scope === 'project') return { files: [joined(machine, cwd, folder, file)], signs: [cwd] };
    const own = (variable === undefined ? undefined : env[variable]) || joined(machine, home, folder);
    return { files: [joined(machine, own, file)], signs: [own] };
  };
}

/** A host by the name that `--client` has for it. Read in the vendors' pages in November 2026. */
export const HOSTS = {
  'claude-code': {
    title: 'Claude Code',
    syntax: 'JSON',
    place: (scope, machine) => {
      const { home, cwd, env } = machine;
      if (scope === 'project') return { files: [joined(machine, cwd, '.mcp.json')], signs: [cwd] };
      const folder = env.CLAUDE_CONFIG_DIR || home;
      const file = joined(machine, folder, '.claude.json');
      return { files: [file], signs: env.CLAUDE_CONFIG_DIR ? [folder] : [file, joined(machine, home, '.claude')] };
    },
    path: () => ['mcpServers'],
    entry: common(
      (reached) => ({ type: 'http', url: reached.url, ...bearer(tokenOf(reached, reference)) }), // Without a type: stdio.
      {},
      'stdio',
    ),
    limits: [
      'Over stdio a call has no limit of its own; over HTTP it is given up after 300 s of silence, and Longcall answers before.',
      'MCP_TIMEOUT (milliseconds, in its environment) is how long a server may take to start: npx downloads at the first start, and 60000 is enough for that.',
      'Tasks of its own need revision 2026-07-28: a release that does not ask for it over stdio does so with MCP_PROTOCOL_NEGOTIATION=auto in its environment.',
    ],
    afterwards:
      'Start Claude Code anew; /mcp shows the server. It writes ~/.claude.json itself: end it before that file is changed, or use its own command.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    syntax: 'JSON',
    place: (scope, machine) => {
      const folder = configFolder(machine, 'Claude');
      const file = joined(machine, folder, 'claude_desktop_config.json');
      return scope === 'project' ? undefined : { files: [file], signs: [folder] };
    },
    path: () => ['mcpServers'],
    entry: (reached) => ('url' in reached ? undefined : { command: reached.command, args: reached.args }),
    limits: ['It gives a call up after one to four minutes, which cannot be set; Longcall answers before.'],
    afterwards: 'Quit Claude Desktop (closing its window is not enough), and start it again.',
  },
  vscode: {
    title: 'VS Code',
    syntax: 'JSON',
    place: (scope, machine) => {
      if (scope === 'project')
        return { files: [joined(machine, machine.cwd, '.vscode', 'mcp.json')], signs: [machine.cwd] };
      const folder = configFolder(machine, 'Code', 'User');
      return { files: [joined(machine, folder, 'mcp.json')], signs: [folder] };
    },
    path: () => ['servers'],
    entry: common(
      (reached) => ({ type: 'http', url: reached.url, ...bearer(tokenOf(reached, envReference)) }),
      {},
      'stdio',
    ),
    limits: ['It waits as long as a call takes, and asks for tasks of 2025-11-25 by itself. There is nothing to set.'],
    afterwards: 'Press "Start" above the server in that file, or run "MCP: List Servers".',
  },
  cursor: {
    title: 'Cursor',
    syntax: 'JSON',
    place: dotFolder('.cursor', 'mcp.json'),
    path: () => ['mcpServers'],
    entry: common((reached) => ({ url: reached.url, ...bearer(tokenOf(reached, envReference)) })),
    limits: ['It gives a call up after about 60 s, which cannot be set; Longcall answers before.'],
    afterwards: 'Restart Cursor, and see that the server is switched on among its MCP servers.',
  },
  codex: {
    title: 'Codex',
    syntax: 'TOML',
    place: dotFolder('.codex', 'config.toml', 'CODEX_HOME'),
    path: () => ['mcp_servers'],
    entry: common(
      (reached) => ({
        url: reached.url,
        ...(reached.tokenEnv !== undefined && { bearer_token_env_var: reached.tokenEnv }),
      }),
      { startup_timeout_sec: 30, tool_timeout_sec: 300 },
    ),
    limits: [
      'startup_timeout_sec: it waits 10 s otherwise, and npx downloads at the first start.',
      'tool_timeout_sec: older releases give a call up after 60 s; progress does not extend it, and Longcall answers before 300 s.',
    ],
    afterwards:
      'Start Codex anew; /mcp shows the server. It reads the file of a project only where the project is trusted.',
  },
  gemini: {
    title: 'Gemini CLI',
    syntax: 'JSON',
    place: dotFolder('.gemini', 'settings.json'),
    path: () => ['mcpServers'],
    entry: common((reached) => ({ httpUrl: reached.url, ...bearer(tokenOf(reached, reference)) }), {
      timeout: 600_000,
    }),
    limits: ['timeout: a call may take 600 s, whatever happens; that is its default, said here so that it stays so.'],
    afterwards: 'Start Gemini CLI anew; /mcp shows the server.',
  },
  goose: {
    title: 'Goose',
    syntax: 'YAML',
    place: (scope, machine) => {
      if (scope === 'project') return undefined;
      const { platform, home, env } = machine;
      const folder =
        platform === 'win32'
          ? configFolder(machine, 'Block', 'goose', 'config')
          : posix.join(xdgFolder(home, env), 'goose');
      return { files: [joined(machine, folder, 'config.yaml')], signs: [folder] };
    },
    path: () => ['extensions'],
    // Without a name it reads nothing, and older releases want a description of what is at an address.
    entry: (reached, name) => ({
      name,
      description: 'Longcall',
      ...('url' in reached
        ? {
            type: 'streamable_http',
            uri: reached.url,
            ...bearer(tokenOf(reached, reference)),
            ...(reached.tokenEnv !== undefined && { env_keys: [reached.tokenEnv] }),
          }
        : { type: 'stdio', cmd: reached.command, args: reached.args }),
      enabled: true,
      timeout: 300,
    }),
    limits: ['timeout: seconds for each call; Longcall answers before.'],
    afterwards: 'Start a new session of Goose.',
  },
  opencode: {
    title: 'OpenCode',
    syntax: 'JSON',
    place: (scope, machine) => {
      const { home, cwd, env } = machine;
      const xdg = env.XDG_CONFIG_HOME;
      const folder =
        scope === 'project' ? cwd : joined(machine, xdg ? xdg : joined(machine, home, '.config'), 'opencode');
      return {
        files: ['opencode.jsonc', 'opencode.json'].map((name) => joined(machine, folder, name)),
        signs: [folder],
      };
    },
    // As OpenCode 1 has it, which 2 reads as well; as 2 does where the file has that form already.
    path: (root) => (root !== undefined && at(root, ['mcp', 'servers'])?.kind === 'map' ? ['mcp', 'servers'] : ['mcp']),
    entry: (reached, _name, path) => ({
      ...('url' in reached
        ? { type: 'remote', url: reached.url, ...bearer(tokenOf(reached, (name) => `{env:${name}}`)) }
        : { type: 'local', command: [reached.command, ...reached.args] }),
      ...(path.length === 1 ? { enabled: true, timeout: 60_000 } : { timeout: { startup: 60_000 } }),
    }),
    limits: [
      'timeout: milliseconds; npx downloads at the first start. A call may take 60 s, longer with progress; Longcall answers before.',
    ],
    afterwards: 'Start OpenCode anew; `opencode mcp list` shows the server.',
  },
} as const satisfies Record<string, Host>;

export type HostName = keyof typeof HOSTS;
