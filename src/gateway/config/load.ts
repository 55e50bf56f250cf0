import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { TokenFile } from '../../server/auth/token-file.ts';
import { knownTokens } from '../../server/auth/token-list.ts';
import { isLoopback } from '../../server/listen.ts';
import { LISTEN, MAX_PORT, parseAddress } from './address.ts';
import { httpToolsOf, publicUrlOf, type WrittenHttpTool } from './http-of.ts';
import { reportNames } from './own-names.ts';
import { ConfigError } from './problems.ts';
import { fileTrouble, References, type Surroundings } from './references.ts';
import { checkAgainstSchema } from './schema.ts';
import { inside, type Sheet, shown } from './sheet.ts';
import { shellToolsOf, type WrittenShellTool } from './shell-of.ts';
import { Targets } from './target-of.ts';
import { Texts } from './texts.ts';
import type { GatewayConfig } from './types.ts';
import { bytes } from './units.ts';
import { upstreamsOf, type WrittenUpstream } from './upstream-of.ts';
import { readYaml } from './yaml.ts';

export interface LoadedConfig {
  config: GatewayConfig;
  /** What the file refers to and nobody may read anywhere: to be cut out of whatever is logged, longest first. */
  secrets: readonly string[];
}

/** The file as it is written, checked: what is wrong is not in it. */
interface Written {
  listen?: string | { host?: string; port?: number };
  state?: string;
  firstDraft?: boolean;
  auth?: { tokens?: ({ name?: string; token?: string } | undefined)[]; tokenFile?: string };
  limits?: { slots?: number; openTasksPerPrincipal?: number; maxRequest?: string; maxResult?: string };
  upstreams?: Record<string, WrittenUpstream>;
  shell?: Record<string, WrittenShellTool>;
  http?: Record<string, WrittenHttpTool>;
  publicUrl?: string;
}

/** Many times what anybody writes. A parser of YAML takes its time over more. */
const MAX_FILE_BYTES = 128 * 1024;

/**
 * Reads a gateway's configuration. Paths in it are relative to it.
 * @param file named by whoever starts the gateway: no such file is ever looked for
 * @throws {ConfigError} telling everything that is wrong with it, with line, column and field, and no secret.
 */
export function loadConfig(file: string, env: Surroundings['env'] = process.env): LoadedConfig {
  return parseConfig(textOf(file), file, { env, folder: dirname(resolve(file)) });
}

/** The same of a text. @param file what it is called in errors */
export function parseConfig(text: string, file: string, around: Surroundings): LoadedConfig {
  const { sheet, value } = readYaml(text);
  const references = new References(sheet, around);
  const readable = sheet.problems.length === 0 && checkAgainstSchema(value, sheet);
  const config = readable ? configOf(value as Written, sheet, references, around) : { upstreams: [] };
  if (sheet.problems.length === 0) return { config, secrets: references.secrets };
  throw new ConfigError(
    file,
    sheet.problems.toSorted((a, b) => a.line - b.line || a.column - b.column),
  );
}

function configOf(written: Written, sheet: Sheet, references: References, around: Surroundings): GatewayConfig {
  const { state, firstDraft, auth = {} } = written;
  const texts = new Texts(sheet, references, around.env);
  const listen = listenOf(written, sheet);
  const stateFolder = state === undefined ? undefined : references.path('/state', state);
  const tokens = auth.tokens === undefined ? undefined : tokensOf(auth.tokens, sheet, references);
  const tokenFile = auth.tokenFile === undefined ? undefined : tokenFileOf(auth.tokenFile, sheet, references);
  const shell = written.shell === undefined ? undefined : shellToolsOf(written.shell, texts);
  const publicUrl = written.publicUrl === undefined ? undefined : publicUrlOf(written.publicUrl, texts);
  const http = written.http === undefined ? undefined : httpToolsOf(written.http, texts, publicUrl);
  const own = (['shell', 'http'] as const).flatMap((kind) =>
    Object.keys(written[kind] ?? {}).map((name) => ({ name, pointer: inside('', kind, name) })),
  );
  const upstreams = upstreamsOf(written.upstreams ?? {}, new Targets(texts), sheet, { alone: own.length === 0 });
  reportNames(own, upstreams, sheet);
  return {
    upstreams,
    ...(shell !== undefined && { shell }),
    ...(http !== undefined && { http }),
    ...(listen !== undefined && { listen }),
    ...(stateFolder !== undefined && { stateFolder }),
    ...(firstDraft !== undefined && { firstDraft }),
    ...(tokens !== undefined && { tokens }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(written.limits !== undefined && { limits: limitsOf(written.limits) }),
  };
}

function listenOf({ listen, auth }: Written, sheet: Sheet): GatewayConfig['listen'] {
  if (listen === undefined) return undefined;
  const address = typeof listen === 'string' ? parseAddress(listen) : { ...LISTEN, ...listen };
  if (address === undefined) {
    sheet.report('/listen', `expected a port from 0 to ${MAX_PORT}, got ${shown(listen as string)}`);
    return undefined;
  }
  if (!isLoopback(address.host) && auth === undefined) {
    sheet.report(
      '/listen',
      `${address.host} can be reached by others: auth has to say who is let in, or listen on 127.0.0.1`,
    );
  }
  return address;
}

function limitsOf(written: NonNullable<Written['limits']>): NonNullable<GatewayConfig['limits']> {
  const { slots, openTasksPerPrincipal, maxRequest, maxResult } = written;
  return {
    ...(slots !== undefined && { slots }),
    ...(openTasksPerPrincipal !== undefined && { openTasksPerPrincipal }),
    ...(maxRequest !== undefined && { maxRequestBytes: bytes(maxRequest) }),
    ...(maxResult !== undefined && { maxResultBytes: bytes(maxResult) }),
  };
}

function tokensOf(
  written: NonNullable<NonNullable<Written['auth']>['tokens']>,
  sheet: Sheet,
  references: References,
): { name: string; token: string }[] {
  const seen = new Map<string, number>();
  return written.flatMap((entry, at) => {
    const pointer = inside('/auth/tokens', at, 'token');
    const token = entry?.token === undefined ? undefined : references.expand(pointer, entry.token, { secret: true });
    if (token === undefined) return [];
    const name = entry?.name ?? '';
    try {
      knownTokens([{ token, subject: name === '' ? '-' : name }]);
    } catch (error) {
      sheet.report(pointer, (error as Error).message.replace(/^tokens\[0\]: token /, 'what it refers to '));
    }
    const before = seen.get(token);
    if (before !== undefined) sheet.report(pointer, `expected a token of its own, got that of auth.tokens[${before}]`);
    seen.set(token, at);
    return [{ name, token }];
  });
}

function tokenFileOf(written: string, sheet: Sheet, references: References): string | undefined {
  const path = references.path('/auth/tokenFile', written);
  if (path === undefined) return undefined;
  try {
    new TokenFile(path);
  } catch (error) {
    sheet.report('/auth/tokenFile', fileTrouble(path, error));
  }
  return path;
}

function textOf(file: string): string {
  const refuse = (message: string): never => {
    throw new ConfigError(file, [{ line: 1, column: 1, field: '', message }]);
  };
  let content: Buffer;
  try {
    content = contentOf(file);
  } catch (error) {
    return refuse(fileTrouble(file, error));
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return refuse('expected text in UTF-8, got something else');
  }
}

/** @throws {Error} when it is no file, or too long to be meant. */
function contentOf(file: string): Buffer {
  const fd = openSync(file, 'r');
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`${file} is not a file`);
    if (stats.size > MAX_FILE_BYTES) throw new Error(`expected at most ${MAX_FILE_BYTES} bytes, got ${stats.size}`);
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
