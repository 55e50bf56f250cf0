// The package that is rewritten, and what became of it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, watch } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const installed = dirname(require.resolve('yaml/package.json'));
const DOCUMENT =
  '# kept\nname: &n one\nlist: [1, 0x10, ~, *n]\ndate: !!timestamp 2026-11-30\ntext: |\n  two\n  lines\n';

export interface Note {
  start?: number;
  parent?: number;
  file?: string;
}

/** A copy of an installed package that is ours to rewrite. */
export function copyOfPackage(folder: string): string {
  cpSync(installed, folder, { recursive: true });
  return folder;
}

/** What the script noted, line by line. */
export function notesOf(copy: string): Note[] {
  const file = `${copy}.migration`;
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Note);
}

export function filesOf(copy: string): string[] {
  return notesOf(copy).flatMap(({ file }) => file ?? []);
}

/** Resolves as soon as so many files are rewritten. */
export function rewritten(copy: string, count: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (filesOf(copy).length < count) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(dirname(copy), look);
    look();
  });
}

/** Each of the files was rewritten once, and only they, and the package does what it did. */
export function checkPackage(copy: string, { count, folders }: { count: number; folders: string[] }): void {
  const files = filesOf(copy);
  assert.equal(files.length, count);
  assert.equal(new Set(files).size, count);
  for (const name of readdirSync(installed, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const before = readFileSync(join(installed, name), 'utf8');
    const expected = folders.includes(dirname(name)) ? before.replace(/^var /gm, 'const ') : before;
    assert.equal(readFileSync(join(copy, name), 'utf8'), expected, name);
    assert.equal(files.includes(name), expected !== before, name);
  }
  const read = (folder: string): string => require(folder).parseDocument(DOCUMENT).toString();
  const values = (folder: string): unknown => require(folder).parse(DOCUMENT);
  assert.equal(read(copy), read(installed));
  assert.deepEqual(values(copy), values(installed));
}
