import { openGatewayBackend } from '../../gateway/daemon/gateway-backend.ts';
import { daemonFolder } from '../../gateway/daemon/private-folder.ts';
import { logPath } from '../../gateway/daemon/rotating-log.ts';
import { runDaemon } from '../../gateway/daemon/run.ts';
import { version } from '../../gateway/version.ts';
import { CliError, EXIT } from '../errors.ts';
import type { Output } from '../output.ts';

/** @returns the exit code, which fronts that started it understand */
export async function run({ state, idle }: { state?: string; idle?: number }, output: Output): Promise<number> {
  const exitCode = await runDaemon({
    folder: daemonFolder(state, process.env),
    version: version(),
    open: openGatewayBackend,
    ...(idle !== undefined && { idleMs: idle }),
    env: process.env,
    // Where nobody looks, its output is its log.
    up: (folder) => {
      if (output.isTerminal)
        void output.write(`running in ${folder}; stop with Ctrl-C; the log is ${logPath(folder)}\n`);
    },
  });
  if (exitCode !== EXIT.ok && output.isTerminal) throw new CliError('another daemon is at work there', exitCode);
  return exitCode;
}
