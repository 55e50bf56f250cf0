import { shellTool } from '../../adapters/index.ts';
import { NonRetryableError } from '../../core/index.ts';
import type { AdapterOf } from './run-tool.ts';

/** Commands on this machine, each under a runner that outlives the daemon. @param folder absolute, of all their jobs */
export function shellRuns(folder: string): AdapterOf {
  return ({ command, timeoutMs }) =>
    shellTool({
      folder,
      secrets: command?.secrets ?? [],
      limits: { ...(timeoutMs !== undefined && { timeoutMs }) },
      command: () => {
        // Kept in memory only: a process that died before it could be started has taken it along.
        if (command === undefined)
          throw new NonRetryableError('the command was lost before it was started; run it again');
        const { file, args, cwd, env, stdin } = command;
        return { file, args, cwd, env, ...(stdin !== undefined && { stdin }) };
      },
    });
}
