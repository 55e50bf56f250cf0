import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: [
    'src/index.ts',
    'src/server/index.ts',
    'src/server/sdk-v1/index.ts',
    'src/client/index.ts',
    'src/client/ai-sdk.ts',
    'src/adapters/index.ts',
    'src/adapters/shell/runner/main.ts', // A process of its own.
    'src/gateway/index.ts',
    'src/testing/index.ts',
    'src/cli/main.ts',
  ],
  // One file out for each file in: a class exists once however many subpaths lead to it, and a stack trace names the room.
  unbundle: true,
  root: 'src',
  format: 'esm',
  platform: 'node',
  target: 'node20.19', // Also down-levels `using`, which Node 20 can't parse.
  fixedExtension: false,
  dts: true,
  // Whatever isn't in `dependencies` must not slip into dist unseen: an undeclared import fails the build.
  deps: { onlyBundle: [] },
  failOnWarn: true,
  report: false,
});
