import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { DaemonError } from './errors.ts';
import { privateFolder } from './private-folder.ts';

/** macOS has room for 104 bytes in an address, Linux for 108; one ends it. */
const MAX_PATH_BYTES = 103;

/**
 * Where the daemon of a folder listens: in it, or where its name is too long for a socket, in the folder that the system
 * has made for this user's sockets. Fronts read what it came to from the daemon's record.
 * @throws {DaemonError} when neither will do.
 */
export function socketPath(folder: string, { XDG_RUNTIME_DIR }: NodeJS.ProcessEnv): string {
  const name = createHash('sha256').update(folder).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return `\\\\.\\pipe\\longcall-${name}`;
  const path = join(folder, 'daemon.sock');
  if (fits(path)) return path;
  if (XDG_RUNTIME_DIR !== undefined && isAbsolute(XDG_RUNTIME_DIR)) {
    const other = join(privateFolder(XDG_RUNTIME_DIR), `longcall-${name}.sock`);
    if (fits(other)) return other;
  }
  throw new DaemonError(
    'DAEMON_FOLDER',
    `the path of a socket in ${folder} would be longer than ${MAX_PATH_BYTES} bytes: name a shorter folder with --state or ` +
      'LONGCALL_RUNTIME_DIR, or set XDG_RUNTIME_DIR',
  );
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_PATH_BYTES;
}
