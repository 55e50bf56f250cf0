import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CliError, EXIT } from '../../errors.ts';

/** The text of a file, a byte order mark included; undefined: there is none. @throws {CliError} */
export function readText(file: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(`${file}: ${(error as Error).message}`, EXIT.infrastructure);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CliError(`${file}: is no text in UTF-8`);
  }
}

export interface Replacement {
  /** What the file had when it was read: if it has something else by now, it is left alone. Undefined: there was none. */
  before: string | undefined;
  text: string;
  /** It holds secrets: the copy is for its owner only. */
  secret: boolean;
  /** Milliseconds since the Unix epoch, for the name of the copy. */
  now: number;
  /** Of a file that is new. @default 0o600 */
  mode?: number;
}

/**
 * Puts a text in a file's place at once, so that nobody reads half of it, and keeps a copy of what was there. A link stays a
 * link: what it points to is replaced. Mode and owner stay.
 * @returns where the copy is; undefined: there was nothing to copy
 * @throws {CliError} when somebody else has changed the file meanwhile, or it cannot be written.
 */
export function replaceFile(
  file: string,
  { before, text, secret, now, mode = 0o600 }: Replacement,
): string | undefined {
  if (readText(file) !== before) throw new CliError(`${file}: was changed meanwhile; nothing is written, try again`);
  try {
    if (before === undefined) {
      if (isThere(file)) throw new CliError(`${file}: is a link to a file that is not there`, EXIT.notFound);
      putInPlace(file, text, mode);
      return undefined;
    }
    const target = realpathSync(file);
    const stat = statSync(target);
    const copy = copyOf(target, stat.mode & (secret ? 0o600 : 0o777), now);
    putInPlace(target, text, stat.mode & 0o777, stat);
    return copy;
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: cannot be written: ${(error as Error).message}`, EXIT.infrastructure);
  }
}

function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function putInPlace(target: string, text: string, mode: number, owner?: { uid: number; gid: number }): void {
  const draft = join(dirname(target), `.${basename(target)}.longcall-${randomBytes(6).toString('hex')}`);
  try {
    const handle = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    chmodSync(draft, mode); // Not with `open`, of whose mode the umask takes away.
    if (owner !== undefined && process.getuid?.() === 0) chownSync(draft, owner.uid, owner.gid);
    renameSync(draft, target);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A second one within the same second gets a number. */
function copyOf(target: string, mode: number, now: number): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '');
  for (let n = 1; ; n++) {
    const copy = `${target}.longcall-backup-${stamp}${n === 1 ? '' : `-${n}`}`;
    try {
      closeSync(openSync(copy, 'wx', mode)); // Made for its owner first: the secrets come after.
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' && n < 100) continue;
      throw error;
    }
    copyFileSync(target, copy, constants.COPYFILE_FICLONE);
    chmodSync(copy, mode);
    return copy;
  }
}
