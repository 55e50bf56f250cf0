import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { HandedCommand } from '../../gateway/runs/handed-command.ts';
import { CliError, EXIT } from '../errors.ts';
import { addressOf, expanded, readHostConfig, type ServerTarget, targetOf } from './host-config.ts';
import { type Remembered, recall } from './remembered.ts';

/** What the command line says of where a server is. */
export interface ServerOptions {
  config?: string;
  url?: string;
  header?: string[];
  env?: string[];
  /** What stands after `--`. */
  command?: readonly string[];
  /** It is the daemon of this folder, which is to run these. */
  daemon?: DaemonTarget;
}

/** This user's daemon as a server of commands. */
export interface DaemonTarget {
  daemon: string;
  commands: readonly HandedCommand[];
}

export interface FoundServer {
  target: ServerTarget | DaemonTarget;
  /** How it is found again; undefined: it is not to be remembered, for the reason given. */
  remember: Remembered | undefined;
  notRemembered?: string;
  /** It was remembered before, as another. */
  changed: boolean;
}

/** Arguments of commands and addresses that look as if they were to be kept secret. */
const SECRET = /(token|secret|passw|api[-_]?key|credential|bearer|auth)/i;
/** A header that is nothing but a reference, perhaps after a scheme. */
const REFERENCE = /^([A-Za-z]+ )?\$\{(env:)?[A-Za-z_]\w*\}$/;

/**
 * Where a server is: by `--url` or a command after `--`, else in the file of `--config`, else as it was remembered.
 * @throws {CliError} when it is nowhere, or what says where it is makes no sense.
 */
export async function findServer(
  name: string,
  options: ServerOptions,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<FoundServer> {
  if (name.trim() === '') throw new CliError('SERVER: give a name');
  const before = recall(folder, name);
  const { daemon } = options;
  const given: Given | undefined =
    daemon === undefined ? await givenServer(name, options) : { server: { daemon: daemon.daemon } };
  const server = given?.server ?? before;
  if (server === undefined) throw await unknownServer(name, options);
  const { notRemembered } = given ?? {};
  return {
    target: daemon ?? (await targetOfRemembered(name, server, options, env)),
    remember: notRemembered === undefined ? given?.server : undefined,
    ...(notRemembered !== undefined && { notRemembered }),
    changed: given !== undefined && before !== undefined && !isDeepStrictEqual(before, given.server),
  };
}

interface Given {
  server: Remembered;
  notRemembered?: string | undefined;
}

/** What the command line says itself. */
async function givenServer(
  name: string,
  { config, url, header = [], env = [], command = [] }: ServerOptions,
): Promise<Given | undefined> {
  const [file, ...args] = command;
  if (url !== undefined && file !== undefined) throw new CliError('give --url, or a command after --, not both');
  if (file !== undefined) {
    const secret = args.find((arg) => SECRET.test(arg));
    return {
      server: { command: file, args, cwd: process.cwd(), ...(env.length > 0 && { env }) },
      ...(secret !== undefined && {
        notRemembered: 'an argument of its command looks like a secret; pass it with --env',
      }),
    };
  }
  if (url !== undefined) {
    const address = new URL(addressOf(url, '--url'));
    if (address.username !== '' || address.password !== '') {
      throw new CliError('--url: no passwords in an address; give them with --header');
    }
    const headers = Object.fromEntries(header.map(headerOf));
    const literal = Object.entries(headers).find(([, value]) => !REFERENCE.test(value));
    const why =
      literal !== undefined
        ? `the value of its header "${literal[0]}" is written out, instead of \${NAME} for what is in the environment`
        : address.search !== '' && SECRET.test(address.search)
          ? 'its address looks like it holds a secret'
          : undefined;
    return {
      server: { url, ...(header.length > 0 && { headers }) },
      ...(why !== undefined && { notRemembered: why }),
    };
  }
  if (config !== undefined && (await readHostConfig(config)).has(name)) return { server: { config: resolve(config) } };
  return undefined;
}

async function targetOfRemembered(
  name: string,
  server: Remembered,
  { header = [] }: ServerOptions,
  env: NodeJS.ProcessEnv,
): Promise<ServerTarget | DaemonTarget> {
  if ('daemon' in server) return { daemon: server.daemon, commands: [] };
  if ('config' in server) {
    const entry = (await readHostConfig(server.config)).get(name);
    if (entry !== undefined) return targetOf(entry, `${server.config}: ${name}`, env);
    throw new CliError(`${server.config}: has no server "${name}" any more`, EXIT.notFound);
  }
  if ('command' in server) {
    const passed = (server.env ?? []).map((variable): [string, string] => {
      const value = env[variable];
      if (value === undefined) throw new CliError(`--env ${variable}: the environment variable is not set`);
      return [variable, value];
    });
    return { command: server.command, args: server.args, cwd: server.cwd, env: Object.fromEntries(passed) };
  }
  const headers = { ...server.headers, ...Object.fromEntries(header.map(headerOf)) };
  const all = Object.entries(headers).map(([key, value]) => [key, expanded(value, `--header "${key}"`, env)]);
  return { url: server.url, headers: Object.fromEntries(all) };
}

/** `'Name: value'` in two. @throws {CliError} */
export function headerOf(text: string): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new CliError("--header: expected 'Name: value'");
  return [name, value];
}

async function unknownServer(name: string, { config }: ServerOptions): Promise<CliError> {
  const file =
    config === undefined ? '' : `; ${config} has ${[...(await readHostConfig(config)).keys()].join(', ') || 'none'}`;
  return new CliError(
    `no server "${name}" is known here: name a host's file with --config, or give --url URL, or a command after --${file}`,
    EXIT.notFound,
  );
}
