import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../../core/index.ts';
import { CliError, EXIT } from '../errors.ts';

/** How a server is found again, by the name that the journal has. Nothing here is a secret. */
export type Remembered =
  | { config: string }
  /** Headers only as references to the environment. */
  | { url: string; headers?: Record<string, string> }
  /** Of the environment only the names that are passed on. */
  | { command: string; args: string[]; cwd: string; env?: string[] }
  /** The folder of a daemon that runs commands: nothing of these. */
  | { daemon: string };

const LONGEST_NAME = 100;

/** A file for each server, so that commands that run at once do not write over each other. */
function fileOf(folder: string, name: string): string {
  const encoded = encodeURIComponent(name).replaceAll('.', '%2E');
  if (encoded.length > LONGEST_NAME)
    throw new CliError(`SERVER: a name of at most ${LONGEST_NAME} letters, got "${name}"`);
  return join(folder, `${encoded}.json`);
}

export function recall(folder: string, name: string): Remembered | undefined {
  const file = fileOf(folder, name);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(`${file}: ${(error as Error).message}`, EXIT.infrastructure);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isJsonObject(value)) {
    const named = ['config', 'url', 'daemon'].some((name) => typeof value[name] === 'string');
    if (named) return value as unknown as Remembered;
    if (typeof value.command === 'string' && Array.isArray(value.args)) return value as unknown as Remembered;
  }
  throw new CliError(`${file}: does not say where a server is; delete it and give --url, --config or a command again`);
}

export function remember(folder: string, name: string, server: Remembered): void {
  const file = fileOf(folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${JSON.stringify(server, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}
