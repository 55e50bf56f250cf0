import { at, type MapTree, type Member, memberOf, type Syntax, type Tree } from './forms/tree.ts';

/** How a kind of host spells a server. */
export interface Dialect {
  command: string;
  /** Undefined: `command` is a list, with the arguments in it. */
  args: string | undefined;
  env: string;
  /** Keys that an address may have, the usual one first. */
  urls: readonly string[];
  headers: string;
  /** What `type` says of a server that is a command. */
  local: string;
}

/** `mcpServers` of most hosts, and `servers` of VS Code. */
const common: Dialect = {
  command: 'command',
  args: 'args',
  env: 'env',
  urls: ['url', 'httpUrl', 'serverUrl'],
  headers: 'headers',
  local: 'stdio',
};
const opencode: Dialect = {
  command: 'command',
  args: undefined,
  env: 'environment',
  urls: ['url'],
  headers: 'headers',
  local: 'local',
};
const codex: Dialect = { ...common, urls: ['url'], headers: 'http_headers' };
const goose: Dialect = { ...common, command: 'cmd', env: 'envs', urls: ['uri'] };

/** A server as it stands in a host's file. */
export interface ServerEntry {
  name: string;
  path: readonly string[];
  map: MapTree;
  dialect: Dialect;
}

/** Where hosts keep servers: the first of these that a file has. VS Code's settings and OpenCode 2 share one. */
const PLACES: Record<Syntax['name'], readonly (readonly string[])[]> = {
  JSON: [['mcpServers'], ['servers'], ['mcp', 'servers'], ['mcp']],
  TOML: [['mcp_servers']],
  YAML: [['extensions']],
};

/** The servers of a host's file; undefined: there is no place for any in it. */
export function serversIn(root: Tree, syntax: Syntax['name']): ServerEntry[] | undefined {
  const place = PLACES[syntax].find((path) => at(root, path)?.kind === 'map');
  const servers = place === undefined ? undefined : at(root, place);
  if (place === undefined || servers?.kind !== 'map') return undefined;
  return servers.members.flatMap((member) => entryOf(member, place, syntax));
}

/** The places told in an error. */
export function placesOf(syntax: Syntax['name']): string {
  return PLACES[syntax].map((path) => `"${path.join('.')}"`).join(' or ');
}

function entryOf({ key, value }: Member, place: readonly string[], syntax: Syntax['name']): ServerEntry[] {
  if (value.kind !== 'map') return [];
  return [{ name: key, path: [...place, key], map: value, dialect: dialectOf(value, syntax) }];
}

function dialectOf(map: MapTree, syntax: Syntax['name']): Dialect {
  if (syntax === 'TOML') return codex;
  if (syntax === 'YAML') return goose;
  const type = textIn(map, 'type');
  const listed = memberOf(map, 'command')?.value.kind === 'list';
  return listed || type === 'local' || type === 'remote' ? opencode : common;
}

export function textIn(map: MapTree, key: string): string | undefined {
  const value = memberOf(map, key)?.value;
  return value?.kind === 'scalar' && typeof value.value === 'string' ? value.value : undefined;
}

/** The words of its command line; undefined: it is none, or something in it is no text. */
export function wordsOf({ map, dialect }: ServerEntry): string[] | undefined {
  const command = memberOf(map, dialect.command)?.value;
  if (dialect.args === undefined) return command?.kind === 'list' ? texts(command.items) : undefined;
  if (command?.kind !== 'scalar' || typeof command.value !== 'string') return undefined;
  const args = memberOf(map, dialect.args)?.value;
  if (args === undefined) return [command.value];
  const rest = args.kind === 'list' ? texts(args.items) : undefined;
  return rest === undefined ? undefined : [command.value, ...rest];
}

function texts(items: readonly Tree[]): string[] | undefined {
  const values = items.map((item) => (item.kind === 'scalar' ? item.value : undefined));
  return values.every((value) => typeof value === 'string' || typeof value === 'number')
    ? values.map(String)
    : undefined;
}
