import { describe, it } from 'vitest';
import { storeSuite } from '../../src/testing/index.ts';
import { stores } from '../support/stores.ts';

describe.each(stores)('$name', ({ open }) => {
  it.each(storeSuite)('$name', ({ run }) => run(open));
});
