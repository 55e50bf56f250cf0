import { join } from 'node:path';
import { describe, it, onTestFinished } from 'vitest';
import { systemRandom } from '../../src/core/index.ts';
import { sqliteStore } from '../../src/store/index.ts';
import { dispatcherSuite, type OpenTwice, sharedStoreSuite, storeSuite } from '../../src/testing/index.ts';
import { scratchFolder, silent, someKeys, stores } from '../support/stores.ts';

describe.each(stores)('$name', ({ open }) => {
  it.each(storeSuite)('$name', ({ run }) => run(open));
});

describe.each(stores)('the dispatcher of $name', ({ open }) => {
  it.each(dispatcherSuite)('$name', ({ run }) => run(open));
});

describe.each([
  ['one SQLite file, opened twice', {}],
  ['one encrypted SQLite file, opened twice', { encryption: someKeys('one') }],
])('%s', (_name, options) => {
  const open: OpenTwice = async ({ clock }) => {
    const folder = scratchFolder();
    onTestFinished(folder.remove);
    const file = join(folder.path, 'tasks.db');
    const one = () => sqliteStore(file, options).open({ clock, random: systemRandom, logger: silent });
    return [await one(), await one()];
  };
  it.each(sharedStoreSuite)('$name', ({ run }) => run(open));
});
