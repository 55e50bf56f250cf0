import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, type Logger, systemRandom } from '../../src/core/index.ts';
import { type EncryptionKeys, type SqliteStoreOptions, sqliteStore } from '../../src/store/index.ts';

/** Says nothing; tests that care about log lines pass one of their own. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A folder of its own, removed by `remove`. */
export function scratchFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'longcall-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Keys to encrypt with in tests; the last one is used. */
export function someKeys(...ids: string[]): EncryptionKeys {
  const keys = Object.fromEntries(ids.map((id) => [id, createHash('sha256').update(`key ${id}`).digest()]));
  return { use: ids.at(-1) as string, keys };
}

async function openInFile({ clock }: { clock: Clock }, options?: SqliteStoreOptions) {
  const folder = scratchFolder();
  const backend = sqliteStore(join(folder.path, 'tasks.db'), options);
  const opened = await backend.open({ clock, random: systemRandom, logger: silent });
  const close = opened.store.close.bind(opened.store);
  opened.store.close = async () => {
    await close();
    folder.remove();
  };
  return opened;
}

/** Every store there is, each opened empty. */
export const stores = [
  {
    name: 'SQLite in memory',
    open: ({ clock }: { clock: Clock }) =>
      sqliteStore(':memory:').open({ clock, random: systemRandom, logger: silent }),
  },
  { name: 'SQLite in a file', open: (how: { clock: Clock }) => openInFile(how) },
  {
    name: 'SQLite in a file, encrypted',
    open: (how: { clock: Clock }) => openInFile(how, { encryption: someKeys('one') }),
  },
] as const;
