import { type BigIntStats, closeSync, fstatSync, openSync, readFileSync } from 'node:fs';

/** What is in a file of secrets, and how it was found. */
interface PrivateFile {
  text: string;
  stats: BigIntStats;
}

/**
 * Reads a file that nobody but its owner may read.
 * @param what what it is called in errors, e.g. `token file`
 * @throws {Error} when it is none, or open to others, saying what to do.
 */
export function readPrivateFile(path: string, what: string): PrivateFile {
  const fd = openSync(path, 'r');
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (!stats.isFile()) throw new Error(`${what} ${path} is not a file`);
    const mode = Number(stats.mode) & 0o777;
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(`${what} ${path} is open to others (mode ${mode.toString(8)}): chmod 600 ${path}`);
    }
    return { text: readFileSync(fd, 'utf8'), stats };
  } finally {
    closeSync(fd);
  }
}
