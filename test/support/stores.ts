import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, type Logger, systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';

/** Says nothing; tests that care about log lines pass one of their own. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A folder of its own, removed by `remove`. */
export function scratchFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'longcall-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Every store there is, each opened empty. */
export const stores = [
  {
    name: 'SQLite in memory',
    open: ({ clock }: { clock: Clock }) =>
      sqliteStore(':memory:').open({ clock, random: systemRandom, logger: silent }),
  },
  {
    name: 'SQLite in a file',
    async open({ clock }: { clock: Clock }) {
      const folder = scratchFolder();
      const opened = await sqliteStore(join(folder.path, 'tasks.db')).open({
        clock,
        random: systemRandom,
        logger: silent,
      });
      const close = opened.store.close.bind(opened.store);
      opened.store.close = async () => {
        await close();
        folder.remove();
      };
      return opened;
    },
  },
] as const;
