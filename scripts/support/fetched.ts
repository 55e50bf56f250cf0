// What is no part of the project and has to be fetched: when it is first needed, in exact versions, kept under `.cache`.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { ended, track } from './children.ts';

/** No installation or build takes longer, in milliseconds: about 100 MB may come over the network. */
const PATIENCE_MS = 600_000;

/** Something cannot be installed on this machine, or not now. */
export class NotInstallableError extends Error {
  override readonly name = 'NotInstallableError';
}

/** What was begun is not begun again, and what did not succeed is not tried again. */
const begun = new Map<string, Promise<void>>();

export function once(what: string, make: () => Promise<void>): Promise<void> {
  const before = begun.get(what);
  if (before !== undefined) return before;
  const made = make();
  made.catch(() => {}); // Whoever asked hears of it.
  begun.set(what, made);
  return made;
}

/** A folder that is there with all that `fill` puts into it, or not at all. */
export function filled(folder: string, fill: (folder: string) => Promise<void>): Promise<void> {
  return once(folder, async () => {
    if (existsSync(folder)) return;
    // Beside, and moved when complete: an installation that was interrupted must not pass for one.
    const fresh = `${folder}.${process.pid}`;
    try {
      await mkdir(fresh, { recursive: true });
      await fill(fresh);
      await rename(fresh, folder);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  });
}

/**
 * Runs a program that fetches or builds.
 * @returns what it said on stderr if it failed, else `undefined`
 * @throws {NotInstallableError} when there is no such program
 */
export async function failureOf(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string | undefined> {
  const child = track(spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } }));
  // It may run beside something whose time is taken.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const absent = new Promise<never>((_, reject) => {
    child.once('error', () => reject(new NotInstallableError(`${command} is not there`)));
  });
  const [status, errors] = await Promise.race([Promise.all([ended(child, PATIENCE_MS), text(child.stderr)]), absent]);
  if (status === 0) return undefined;
  console.log(errors);
  return errors;
}
