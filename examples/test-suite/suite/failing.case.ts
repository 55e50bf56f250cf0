import { expect, it } from 'vitest';

it('counts the legs of a spider', () => {
  expect('a spider has 6 legs').toContain('8 legs');
});
