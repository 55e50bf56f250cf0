import { defineConfig } from 'vitest/config';

// Tests that import the package by its own name; they need `npm run build` first.
const built = [
  'test/dist/**/*.test.ts',
  'test/pins/**/*.test.ts',
  'test/integration/**/*.test.ts',
  'test/gateway/killed.test.ts',
];

// What other servers answer, what a damaged network does, and what the engine makes of a job in every case do not depend on our
// Node: the second one that CI runs leaves these out, which take long.
const onceOnly =
  process.env.EXPECT_NODE_ABI === undefined
    ? []
    : [
        'test/gateway/same-answers/**',
        'test/gateway/compare.test.ts',
        'test/client/storm/**',
        'test/client/everything.test.ts',
        'test/adapters/mcp-servers.test.ts',
        'test/adapters/{mcp,service}-contract.test.ts',
      ];

export default defineConfig({
  oxc: { target: 'node20' }, // Tests write `await using`, which Node 20 can't parse.
  test: {
    maxWorkers: 3, // More than the two cores of CI: most tests wait for processes, disks and sockets half of their time.
    pool: 'forks', // Native modules and real processes: each test file gets a process of its own.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
    reporters: ['default'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [...built, ...onceOnly] } },
      {
        extends: true,
        test: {
          name: 'built',
          include: built,
          // The built files run as Node would run them, not transformed by the test runner.
          server: { deps: { external: [/\/dist\/.+\.js$/] } },
        },
      },
    ],
  },
});
