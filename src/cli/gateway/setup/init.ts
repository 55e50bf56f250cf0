import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { addressOf } from '../../calls/host-config.ts';
import { CliError, EXIT } from '../../errors.ts';
import { safe } from '../../format.ts';
import type { Output } from '../../output.ts';
import { inFile, syntaxNamed } from './forms/index.ts';
import type { Plain } from './forms/tree.ts';
import { HOSTS, type Host, type HostName, type Machine, type Reached, type Scope } from './hosts.ts';
import { merged } from './merge.ts';
import { claudeCommand, nameOf } from './names.ts';
import { launcherFor } from './own-command.ts';
import { masked } from './secrets.ts';
import { readText, replaceFile } from './write-file.ts';

export interface InitOptions {
  client: HostName;
  name?: string;
  scope: Scope;
  file?: string;
  url?: string;
  tokenEnv?: string;
  bin?: string;
  write?: boolean;
  force?: boolean;
  json?: boolean;
}

/** This machine, as it is. */
function thisMachine(): Machine {
  return { platform: process.platform, home: homedir(), cwd: process.cwd(), env: process.env };
}

/**
 * `longcall init`: what a host needs to run our gateway.
 * @param command what stands after `--`: the server to put tasks in front of
 */
export async function init(
  options: InitOptions,
  command: readonly string[],
  output: Output,
  machine: Machine = thisMachine(),
): Promise<void> {
  const host: Host = HOSTS[options.client];
  const reached = reachedBy(options, command, machine);
  const name = options.name ?? nameOf(options.url, command);
  if (!/^[A-Za-z0-9_-]{1,60}$/.test(name)) {
    throw new CliError(`--name: expected letters, digits, - and _, got ${JSON.stringify(name)}`);
  }
  const { file, signs } = fileOf(options, host, machine);
  const syntax = syntaxNamed(host.syntax);
  const before = file === undefined ? undefined : readText(file);
  const plan = inFile(file ?? '', syntax, () => {
    const path = host.path(before === undefined ? undefined : syntax.parse(before));
    const entry = host.entry(reached, name, path);
    if (entry === undefined) throw new CliError(`${host.title} reaches no address by its file: leave --token-env out`);
    return { path, entry, snippet: syntax.put('', path, name, entry) };
  });
  const told = {
    client: options.client,
    name,
    file: file ?? null,
    snippet: plan.snippet,
    command:
      options.client === 'claude-code' ? claudeCommand(name, options.scope, reached, machine.platform) : undefined,
    limits: host.limits,
    afterwards: host.afterwards,
    notes: notesOn(command, options.scope),
  };
  if (options.write !== true) {
    return options.json ? output.json({ ...told, changed: false, written: false }) : output.write(page(told, host));
  }
  const done = write(file, signs, before, plan, name, options, host);
  if (options.json) return output.json({ ...told, ...done });
  const { did, backup } = done;
  if (did === 'nothing') return output.write(`nothing to do: ${file} has "${name}" already\n`);
  const kept = backup === undefined ? '' : ` (as it was: ${backup})`;
  return output.write(
    safe(`${did} "${name}" in ${file}${kept}\n${[...host.limits, ...told.notes, host.afterwards].join('\n')}\n`),
  );
}

function reachedBy(
  { client, url, tokenEnv, bin }: InitOptions,
  command: readonly string[],
  { platform }: Machine,
): Reached {
  if ((url === undefined) === (command.length === 0)) {
    throw new CliError('give the command of a server after --, or the --url of a gateway that listens');
  }
  if (tokenEnv !== undefined && url === undefined) throw new CliError('--token-env: is for --url');
  if (tokenEnv !== undefined && !/^[A-Za-z_]\w*$/.test(tokenEnv)) {
    throw new CliError(`--token-env: expected the name of a variable, got ${JSON.stringify(tokenEnv)}`);
  }
  const own = launcherFor(bin);
  // Claude Code starts programs on Windows as they are, and npx is a script there.
  const wrapped =
    platform === 'win32' && client === 'claude-code' && own.command === 'npx'
      ? { command: 'cmd', args: ['/c', 'npx', ...own.args] }
      : own;
  if (url === undefined) return { command: wrapped.command, args: [...wrapped.args, 'wrap', '--', ...command] };
  const address = new URL(addressOf(url, '--url'));
  if (address.username !== '' || address.password !== '') throw new CliError('--url: no passwords in an address');
  // Claude Desktop's file knows no addresses: a process of ours goes there.
  if (client === 'claude-desktop' && tokenEnv === undefined) {
    return { command: wrapped.command, args: [...wrapped.args, 'wrap', '--url', url] };
  }
  return { url, ...(tokenEnv !== undefined && { tokenEnv }) };
}

function fileOf(
  { file, scope, client }: InitOptions,
  host: Host,
  machine: Machine,
): { file: string | undefined; signs: readonly string[] } {
  if (file !== undefined) return { file, signs: [dirname(file)] };
  const place = host.place(scope, machine);
  if (place === undefined) throw new CliError(`--scope: ${host.title} (${client}) has no file of a project`);
  return { file: place.files.find((one) => existsSync(one)) ?? place.files.at(-1), signs: place.signs };
}

function write(
  file: string | undefined,
  signs: readonly string[],
  before: string | undefined,
  { path, entry }: { path: readonly string[]; entry: { [key: string]: Plain } },
  name: string,
  { scope, force = false, file: given }: InitOptions,
  host: Host,
): { did: string; changed: boolean; written: boolean; backup?: string } {
  if (file === undefined || !signs.some((sign) => existsSync(sign))) {
    const why =
      given === undefined
        ? `${host.title} does not seem to be installed: there is no ${signs[0]}`
        : `there is no folder ${signs[0]}`;
    throw new CliError(`${why}; say with --file where its configuration is`, EXIT.notFound);
  }
  const syntax = syntaxNamed(host.syntax);
  const done = inFile(file, syntax, () => merged(before ?? '', syntax, path, name, entry, force));
  if (done.did === 'refused') {
    throw new CliError(`${file}: has another server "${name}"; choose a --name, or replace it with --force`);
  }
  if (done.did === 'nothing') return { did: done.did, changed: false, written: false };
  if (given === undefined) mkdirSync(dirname(file), { recursive: true, ...(scope === 'user' && { mode: 0o700 }) });
  const backup = replaceFile(file, {
    before,
    text: done.text,
    secret: before !== undefined && masked(before, syntax).secret,
    now: Date.now(),
    mode: scope === 'user' ? 0o600 : 0o666 & ~process.umask(),
  });
  return { did: done.did, changed: true, written: true, ...(backup !== undefined && { backup }) };
}

function notesOn(command: readonly string[], scope: Scope): string[] {
  const relative = command.find((word) => /^\.{1,2}[\\/]/.test(word));
  if (relative === undefined || scope === 'project') return [];
  return [`${relative} is looked for in the folder that the host starts in: give its whole path.`];
}

function page(
  told: {
    name: string;
    file: string | null;
    snippet: string;
    command: string | undefined;
    limits: readonly string[];
    afterwards: string;
    notes: string[];
  },
  host: Host,
): string {
  const lines = [
    `${host.title} reads ${told.file}. Put into it, or let --write do it:`,
    '',
    told.snippet.trimEnd(),
    '',
    ...(told.command === undefined ? [] : ['Or run:', '', `  ${told.command}`, '']),
    ...told.limits,
    ...told.notes,
    told.afterwards,
    '',
  ];
  return safe(lines.join('\n'));
}
