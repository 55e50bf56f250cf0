import { closeSync, existsSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { RandomSource } from '../../core/index.ts';
import { readPrivateFile } from '../../store/private-file.ts';
import { DaemonError } from './errors.ts';

const BYTES = 32;

export function secretPath(folder: string): string {
  return join(folder, 'secret');
}

/** What proves to either side that the other may read this folder; nothing where no daemon has ever run. */
export function readSecret(folder: string): Buffer | undefined {
  const path = secretPath(folder);
  if (!existsSync(path)) return undefined;
  let secret: Buffer;
  try {
    secret = Buffer.from(readPrivateFile(path, 'the secret').text.trim(), 'hex');
  } catch (error) {
    throw new DaemonError('DAEMON_FOLDER', (error as Error).message, { cause: error });
  }
  if (secret.length === BYTES) return secret;
  throw new DaemonError('DAEMON_FOLDER', `the secret ${path} is damaged: end the daemon and remove the file`);
}

/** For whoever holds the daemon's lock: makes the secret if there is none. Nobody ever sees a part of it. */
export function ensureSecret(folder: string, random: RandomSource): Buffer {
  const known = readSecret(folder);
  if (known !== undefined) return known;
  const secret = Buffer.from(random.bytes(BYTES));
  writeAtomically(secretPath(folder), `${secret.toString('hex')}\n`, random);
  return secret;
}

/** A whole file of 0600 or none, also after a power cut. */
export function writeAtomically(path: string, text: string, random: RandomSource): void {
  const draft = `${path}.${Buffer.from(random.bytes(6)).toString('hex')}`;
  const fd = openSync(draft, 'wx', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, path);
}
