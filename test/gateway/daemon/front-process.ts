// A front over its own stdin and stdout, of the daemon that is named or the real one: node front-process.ts OPTIONS
import { fileURLToPath } from 'node:url';
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import { daemonCommandLine } from '../../../src/gateway/daemon/command-line.ts';
import { runStdioFront } from '../../../src/gateway/daemon/front.ts';

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const { folder, version, command = daemonCommandLine(main, folder), hello } = JSON.parse(process.argv[2] as string);
try {
  await runStdioFront({
    folder,
    version,
    command,
    hello,
    env: process.env,
    clock: systemClock,
    random: systemRandom,
  });
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 5;
}
