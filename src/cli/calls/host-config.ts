import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { CliError, EXIT } from '../errors.ts';

/** A server, with everything that is needed to reach it: also what must never be written down. */
export type ServerTarget =
  | { url: string; headers: Record<string, string> }
  | { command: string; args: string[]; env: Record<string, string>; cwd?: string };

/**
 * The servers of a host's configuration file, by name, in one form whatever the host: `mcpServers`, VS Code's `servers`, OpenCode's
 * `mcp`, Codex's `mcp_servers` in TOML, Goose's `extensions` in YAML.
 * @throws {CliError} when the file cannot be read, or is none.
 */
export async function readHostConfig(file: string): Promise<ReadonlyMap<string, JsonObject>> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file}: ${(error as Error).message}`, EXIT.infrastructure);
  }
  const { readServers } = await import('../gateway/setup/read-servers.ts'); // Most calls need no parsers of three languages.
  return readServers(text, file);
}

/**
 * One server of such a file, `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}` replaced out of the environment.
 * @param where what it is called in errors
 * @throws {CliError} naming the member that makes no sense, or the variable that is not set.
 */
export function targetOf(server: JsonObject, where: string, env: NodeJS.ProcessEnv): ServerTarget {
  const { url } = server;
  if (server.type === 'sse') {
    throw new CliError(
      `${where}.type: "sse" is the transport of 2024, which is not spoken; give the server's /mcp address`,
    );
  }
  const text = (value: JsonValue | undefined, at: string): string => {
    if (typeof value === 'string') return expanded(value, `${where}.${at}`, env);
    throw new CliError(`${where}.${at}: expected a text`);
  };
  const texts = (value: JsonValue | undefined, at: string): Record<string, string> => {
    if (value === undefined || value === null) return {};
    if (!isJsonObject(value)) throw new CliError(`${where}.${at}: expected an object of texts`);
    const members = Object.entries(value).filter(([, one]) => one !== null);
    return Object.fromEntries(members.map(([name, one]) => [name, text(asText(one), `${at}.${name}`)]));
  };
  if (server.command !== undefined) {
    const { args = [], cwd } = server;
    if (!Array.isArray(args)) throw new CliError(`${where}.args: expected an array of texts`);
    return {
      command: text(server.command, 'command'),
      args: args.map((arg, n) => text(asText(arg), `args.${n}`)),
      env: texts(server.env, 'env'),
      ...(cwd !== undefined && { cwd: text(cwd, 'cwd') }),
    };
  }
  if (url === undefined) throw new CliError(`${where}: expected "url" or "command"`);
  return { url: addressOf(text(url, 'url'), `${where}.url`), headers: texts(server.headers, 'headers') };
}

/** An address over HTTP, checked. @throws {CliError} */
export function addressOf(text: string, where: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new CliError(`${where}: expected an http:// or https:// address, got ${JSON.stringify(text)}`);
  }
  return text;
}

/** @throws {CliError} naming the variable that is not set. */
export function expanded(text: string, where: string, env: NodeJS.ProcessEnv): string {
  return text.replace(/\$\{([^}]*)\}/g, (_all, inner: string) => {
    const [, name, otherwise] = /^\s*(?:env:)?([A-Za-z_]\w*)(?::-(.*)|\s*)$/s.exec(inner) ?? [];
    if (name === undefined) {
      throw new CliError(
        `${where}: \${${inner}} is for the host to ask or know; only \${NAME} and \${env:NAME} are replaced`,
      );
    }
    const value = env[name] ?? otherwise;
    if (value === undefined) throw new CliError(`${where}: the environment variable ${name} is not set`);
    return value;
  });
}

function asText(value: JsonValue | undefined): JsonValue | undefined {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
