// The work of the demo's server: SHA-256 of every file of a folder, and one over them all.
// The fingerprint is what these words give in a shell, so anybody can check it by hand:
//   find . -type f -not -path './.*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
import { createHash } from 'node:crypto';
import { open, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

const CHUNK_BYTES = 1024 * 1024;
const MIN_STEPS = 50;
const MAX_STEPS = 500;
const FILES_PER_STEP = 40;

/**
 * Plain files below `folder`, with forward slashes, in the order of their bytes. Without what is hidden at its top: there
 * tools keep caches, which change while one looks.
 */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !path.startsWith('.'))
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The files in portions of nearly the same size: as many portions as there are steps. */
export function batchesOf(files: readonly string[]): string[][] {
  const wanted = Math.min(Math.max(Math.ceil(files.length / FILES_PER_STEP), MIN_STEPS), MAX_STEPS);
  const count = Math.min(wanted, files.length);
  return Array.from({ length: count }, (_, n) =>
    files.slice(Math.floor((n * files.length) / count), Math.floor(((n + 1) * files.length) / count)),
  );
}

export async function hashFile(path: string, signal: AbortSignal): Promise<{ digest: string; bytes: number }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const file = await open(path);
  try {
    let bytes = 0;
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) return { digest: hash.digest('hex'), bytes };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/** One digest over all of them, as `sha256sum` prints each. */
export function combine(files: readonly string[], digests: readonly string[]): string {
  const hash = createHash('sha256');
  for (const [n, file] of files.entries()) hash.update(`${digests[n]}  ./${file}\n`);
  return hash.digest('hex');
}
