import { randomUUID } from 'node:crypto';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { HandedCommand } from '../../gateway/runs/handed-command.ts';
import { CliError } from '../errors.ts';

export interface RunCommandOptions {
  cwd?: string;
  env?: string[];
  secretEnv?: string[];
}

/** As shells say it. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;
/** Of the task that this command is part of itself, if it is: another one has its own. */
const OF_A_TASK = new Set(['LONGCALL_ASK_URL', 'LONGCALL_ASK_TOKEN', 'LONGCALL_JOB']);
/** Stands where a value was that must not be kept. */
const REDACTED = '[redacted]';
/** What is shorter would be taken out of everything. */
const SHORTEST_SECRET = 4;
/** The daemon takes no more from a front. */
const MOST_BYTES = 3 * 1024 * 1024;

/** A command as it is handed over, and its words as they may be kept and shown. */
export interface RunCommand {
  handed: HandedCommand;
  words: string[];
}

/**
 * What follows `--`, with the folder and the environment that it is to have: by and large those of this process.
 * @throws {CliError} naming the option that makes no sense; with 127 or 126 where there is no such program
 */
export function runCommand(
  [file, ...args]: readonly string[],
  options: RunCommandOptions,
  env: NodeJS.ProcessEnv,
  stdin?: string,
): RunCommand {
  if (file === undefined) throw new CliError('what to run? Give a command after --');
  const cwd = folderOf(options.cwd);
  const given = environmentOf(options.env ?? [], cwd, env);
  const secrets = secretsOf(options.secretEnv ?? [], given);
  checkProgram(file, cwd, given);
  const handed = {
    id: randomUUID(),
    file,
    args,
    cwd,
    env: given,
    secrets,
    ...(stdin !== undefined && { stdin }),
  };
  if (Buffer.byteLength(JSON.stringify(handed)) > MOST_BYTES) {
    throw new CliError(
      `command, environment and what --stdin reads have more than ${MOST_BYTES} bytes: let the command read a file`,
    );
  }
  return { handed, words: [file, ...args].map((word) => without(word, secrets)) };
}

/** What people are shown: as it could be typed. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

function folderOf(given: string | undefined): string {
  const cwd = resolve(given ?? '.');
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true) return cwd;
  throw new CliError(`--cwd: there is no folder ${cwd}`);
}

/** All of this process's, since it is its own user's command; what was named counts over it. */
function environmentOf(named: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Record<string, string> {
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const values = new Map(given.filter(([name]) => !OF_A_TASK.has(name) && name !== '_'));
  values.set('PWD', cwd);
  for (const text of named) {
    const [, name, value] = /^([^=\0]+)(?:=([^\0]*))?$/s.exec(text) ?? [];
    if (name === undefined) throw new CliError(`--env: expected NAME or NAME=VALUE, got ${JSON.stringify(text)}`);
    if (value !== undefined) values.set(name, value);
    else if (env[name] === undefined) throw new CliError(`--env ${name}: the environment variable is not set`);
    else values.set(name, env[name]);
  }
  return Object.fromEntries(values);
}

function secretsOf(names: readonly string[], env: Readonly<Record<string, string>>): string[] {
  return names.map((name) => {
    const value = env[name];
    if (value === undefined) throw new CliError(`--secret-env ${name}: the environment variable is not set`);
    if (value.length >= SHORTEST_SECRET) return value;
    throw new CliError(
      `--secret-env ${name}: its value has less than ${SHORTEST_SECRET} letters, which would be found everywhere`,
    );
  });
}

function without(word: string, secrets: readonly string[]): string {
  return secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), word);
}

/** Before anything is started: it is by far the likeliest mistake, and shells have a code for it. */
function checkProgram(file: string, cwd: string, env: Readonly<Record<string, string>>): void {
  if (process.platform === 'win32') return; // Where names have endings that nobody writes.
  const places = file.includes('/')
    ? [isAbsolute(file) ? file : join(cwd, file)]
    : (env.PATH ?? '').split(delimiter).map((folder) => join(folder === '' ? cwd : resolve(cwd, folder), file));
  const there = places.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
  if (there.length === 0) throw new CliError(`${file}: no such program`, NOT_FOUND);
  if (!there.some(isRunnable)) throw new CliError(`${file}: is no program`, NOT_RUNNABLE);
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
