import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The tests of this repository, and two files of the example's own: one that fails, and one that takes its time.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  oxc: { target: 'node20' },
  test: {
    include: ['test/**/*.test.ts', 'examples/test-suite/suite/*.case.ts'],
    maxWorkers: 2, // The slow one takes one of them.
    testTimeout: 600_000,
  },
});
