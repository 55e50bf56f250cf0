import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { it } from 'vitest';

// Stands for tests that take minutes: it is done when a file is there, so that what the example shows does not hang on luck.
it('takes as long as it takes', async () => {
  while (!existsSync(process.env.GATE ?? '')) await setTimeout(50);
});
