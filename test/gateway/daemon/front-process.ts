// A front over its own stdin and stdout: node front-process.ts OPTIONS
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import { runFront } from '../../../src/gateway/daemon/front.ts';

const { folder, version, command, hello } = JSON.parse(process.argv[2] as string);
try {
  await runFront({
    folder,
    version,
    command,
    hello,
    env: process.env,
    clock: systemClock,
    random: systemRandom,
    input: process.stdin,
    output: process.stdout,
  });
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 5;
}
