import { createHash } from 'node:crypto';
import type { Supervised } from '../../client/transports.ts';
import { systemClock, systemRandom } from '../../core/index.ts';
import { daemonCommandLine } from '../../gateway/daemon/command-line.ts';
import { FrontTransport } from '../../gateway/daemon/front-transport.ts';
import { daemonFolder, privateFolder } from '../../gateway/daemon/private-folder.ts';
import type { HandedCommand } from '../../gateway/runs/handed-command.ts';
import { version } from '../../gateway/version.ts';

/** Under which commands are in the journal, where the daemon is where it always is. */
const NAME = 'this-machine';
const KEY_LETTERS = 8;

/** The name that the daemon of a folder has as a server: the same wherever it is asked for, and another for another folder. */
export function daemonServerName(folder: string, { LONGCALL_RUNTIME_DIR: _named, ...env }: NodeJS.ProcessEnv): string {
  if (folder === daemonFolder(undefined, env)) return NAME;
  return `${NAME}-${createHash('sha256').update(folder).digest('hex').slice(0, KEY_LETTERS)}`;
}

/** How the daemon of a folder is reached, and started where it does not run. */
export function daemonServer(path: string, commands: readonly HandedCommand[]): Supervised {
  const folder = privateFolder(path);
  let last: FrontTransport | undefined;
  return {
    place: NAME,
    trouble: () => last?.trouble,
    transport: () => {
      last = new FrontTransport({
        folder,
        hello: { folder: process.cwd(), commands },
        version: version(),
        command: daemonCommandLine(process.argv[1] ?? '', folder), // As this process was started itself.
        env: process.env,
        clock: systemClock,
        random: systemRandom,
      });
      return last;
    },
  };
}
