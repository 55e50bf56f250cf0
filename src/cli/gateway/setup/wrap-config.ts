import { createTwoFilesPatch } from 'diff';
import { CliError, EXIT } from '../../errors.ts';
import { safe } from '../../format.ts';
import type { Output } from '../../output.ts';
import { placesOf } from './dialects.ts';
import { inFile, syntaxOf } from './forms/index.ts';
import type { Syntax } from './forms/tree.ts';
import { type Launcher, launcherFor } from './own-command.ts';
import { type Choice, NoSuchServer, type Outcome, type Rewritten, undoAll, wrapAll } from './rewrite.ts';
import { masked } from './secrets.ts';
import { readText, replaceFile } from './write-file.ts';

export interface WrapConfigOptions extends Choice {
  undo?: boolean;
  write?: boolean;
  bin?: string;
  json?: boolean;
}

/** `longcall wrap-config`: the servers of a host's file, behind the gateway or back. */
export async function wrapConfig(file: string, options: WrapConfigOptions, output: Output): Promise<void> {
  const text = readText(file);
  if (text === undefined) throw new CliError(`${file}: there is no such file`, EXIT.notFound);
  const syntax = syntaxOf(file);
  const launcher = launcherFor(options.bin);
  const rewritten = inFile(file, syntax, () => rewrite(file, text, syntax, launcher, options));
  if (rewritten === undefined) throw new CliError(`${file}: expected servers under ${placesOf(syntax.name)}`);
  const changed = rewritten.text !== text;
  const { diff, secret } = difference(file, text, rewritten.text, syntax);
  const backup =
    changed && options.write === true
      ? replaceFile(file, { before: text, text: rewritten.text, secret, now: Date.now() })
      : undefined;
  const { servers } = rewritten;
  if (options.json) {
    const written = changed && options.write === true;
    await output.json({ file, changed, written, ...(backup !== undefined && { backup }), servers, diff });
    return;
  }
  if (options.write !== true && changed) await output.write(diff);
  await output.write(servers.map(line).join(''));
  await output.write(`${summary(file, changed, options, backup)}\n`);
}

function rewrite(
  file: string,
  text: string,
  syntax: Syntax,
  launcher: Launcher,
  { only, except, undo }: WrapConfigOptions,
): Rewritten | undefined {
  const choice = { ...(only !== undefined && { only }), ...(except !== undefined && { except }) };
  try {
    return undo ? undoAll(text, syntax, choice) : wrapAll(text, syntax, launcher, choice);
  } catch (error) {
    if (error instanceof NoSuchServer) throw new CliError(`${file}: ${error.message}`, EXIT.notFound);
    throw error;
  }
}

/** As a patch, secrets taken out: it may end up in a terminal's log, or in a question to somebody. */
function difference(file: string, before: string, after: string, syntax: Syntax): { diff: string; secret: boolean } {
  const [one, other] = [masked(before, syntax), masked(after, syntax)];
  const patch = createTwoFilesPatch(file, file, lines(one.shown), lines(other.shown), '', '', { context: 2 });
  const body = patch.slice(patch.indexOf('---'));
  return { diff: before === after ? '' : safe(body), secret: one.secret || other.secret };
}

function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function line({ name, did, why, note }: Outcome): string {
  const more = why ?? note;
  return safe(`${did.padEnd(7)} ${name}${more === undefined ? '' : `: ${more}`}\n`);
}

function summary(
  file: string,
  changed: boolean,
  { write, undo }: WrapConfigOptions,
  backup: string | undefined,
): string {
  if (!changed) return `nothing to ${undo ? 'undo' : 'do'}: ${file} is as it was`;
  if (write !== true) return 'nothing is written yet: --write does it, and keeps a copy of the file';
  return `written: ${file} (as it was: ${backup ?? 'there was none'}). Restart the host, which reads it at its start.`;
}
