// The conductor's own computation of the fingerprint: another walk, another way to read, no batches, no tasks.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { opendir } from 'node:fs/promises';
import type { Fingerprint } from './messages.ts';

export async function fingerprintIndependently(folder: string): Promise<Fingerprint> {
  const paths: Buffer[] = [];
  for await (const path of walk(folder, '.')) paths.push(Buffer.from(path));
  const total = createHash('sha256');
  let bytes = 0;
  for (const path of paths.sort(Buffer.compare)) {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(`${folder}/${path}`)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    total.update(`${hash.digest('hex')}  ${path}\n`);
  }
  return { fingerprint: total.digest('hex'), files: paths.length, bytes };
}

async function* walk(folder: string, path: string): AsyncGenerator<string> {
  for await (const entry of await opendir(`${folder}/${path}`)) {
    if (path === '.' && entry.name.startsWith('.')) continue; // Caches of tools, which change while one looks.
    const inner = `${path}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(folder, inner);
    else if (entry.isFile()) yield inner;
  }
}
