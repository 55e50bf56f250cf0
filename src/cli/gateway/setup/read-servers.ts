import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/index.ts';
import { CliError } from '../../errors.ts';
import { type Dialect, placesOf, type ServerEntry, serversIn } from './dialects.ts';
import { inFile, syntaxOf } from './forms/index.ts';
import { plain } from './forms/tree.ts';

/**
 * The servers of a host's file, by name, each as most hosts write it: `command`, `args`, `env` and `cwd`, or `url` and `headers`.
 * @throws {CliError} when the text is not of its language, or has no place for servers.
 */
export function readServers(text: string, file: string): ReadonlyMap<string, JsonObject> {
  const syntax = syntaxOf(file);
  const servers = inFile(file, syntax, () => serversIn(syntax.parse(text), syntax.name));
  if (servers === undefined) throw new CliError(`${file}: expected servers under ${placesOf(syntax.name)}`);
  return new Map(servers.map((entry) => [entry.name, commonForm(entry)]));
}

function commonForm({ map, dialect }: ServerEntry): JsonObject {
  const server = plain(map) as JsonObject;
  const { command, args } = commandOf(server, dialect);
  const url = dialect.urls.map((key) => server[key]).find((value) => value !== undefined);
  return {
    ...(server.type !== undefined && { type: server.type }),
    ...(command !== undefined && { command }),
    ...(args !== undefined && { args }),
    ...(server.cwd !== undefined && { cwd: server.cwd }),
    ...withTexts('env', server[dialect.env], forwarded(server)),
    ...(url !== undefined && { url }),
    ...withTexts('headers', server[dialect.headers], headersByName(server)),
  };
}

function commandOf(
  server: JsonObject,
  dialect: Dialect,
): { command?: JsonValue | undefined; args?: JsonValue | undefined } {
  const command = server[dialect.command];
  if (dialect.args !== undefined) return { command, args: server[dialect.args] };
  if (!Array.isArray(command)) return { command };
  const [file, ...args] = command.map(withEnv);
  return { command: file, args };
}

function withTexts(key: string, value: JsonValue | undefined, more: JsonObject): JsonObject {
  if (value === undefined && Object.keys(more).length === 0) return {};
  if (value !== undefined && value !== null && !isJsonObject(value)) return { [key]: value };
  const own = Object.entries(value ?? {}).map(([name, one]) => [name, withEnv(one)] as const);
  return { [key]: { ...Object.fromEntries(own), ...more } };
}

/** OpenCode's `{env:NAME}`. */
function withEnv(value: JsonValue): JsonValue {
  return typeof value === 'string'
    ? value.replace(/(?<!\$)\{env:(\w+)\}/g, (_all, name: string) => `\${${name}}`)
    : value;
}

/** Variables that a host hands on by their names: Codex out of its environment, Goose out of its keyring. */
function forwarded({ env_vars, env_keys, uri }: JsonObject): JsonObject {
  const names = [env_vars, uri === undefined ? env_keys : undefined].flatMap((value) =>
    Array.isArray(value) ? value : [],
  );
  const texts = names.filter((name) => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)) as string[];
  return Object.fromEntries(texts.map((name) => [name, `\${${name}}`]));
}

/** Codex: headers whose value, or whose token, is that of a variable. */
function headersByName({ bearer_token_env_var: bearer, env_http_headers: headers }: JsonObject): JsonObject {
  const named = isJsonObject(headers) ? Object.entries(headers) : [];
  return {
    ...Object.fromEntries(named.map(([name, variable]) => [name, `\${${String(variable)}}`])),
    ...(typeof bearer === 'string' && { Authorization: `Bearer \${${bearer}}` }),
  };
}
