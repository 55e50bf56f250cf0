import { readdirSync } from 'node:fs';
import { shellTool } from '../../adapters/index.ts';
import { JobFiles } from '../../adapters/shell/job-files.ts';
import { isTerminalStatus, type Logger, TaskNotFoundError } from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';

/**
 * Ends commands whose tasks were over, or deleted, before this process began, and removes what they left, whatever became of their
 * tools: nobody else would look for them. Told to operators; never rejects.
 */
export async function endStrayJobs(folder: string, tasks: Tasks, logger: Logger): Promise<void> {
  const adapter = shellTool({
    folder,
    command: () => {
      throw new Error('nothing is started here');
    },
  });
  const end = async (key: string): Promise<void> => {
    const files = new JobFiles(folder, key);
    const record = files.runner;
    // Without one it is only about to begin; whoever begins it is there.
    if (record?.taskId === undefined || (await isOpen(record.taskId, tasks))) return;
    if (files.exit === undefined) {
      logger.warn({ job: key }, 'ending a command whose task was over before this process began');
      await adapter.cancel?.(key, NOBODY);
    }
    await adapter.release?.(key, NOBODY);
  };
  try {
    for (const key of keysIn(folder)) await end(key);
  } catch (error) {
    logger.error({ error }, 'what is left of jobs could not be ended; it is tried again with the next start');
  }
}

/** Neither method looks at whose job it is. */
const NOBODY = undefined as never;

function keysIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[\w-]{1,64}$/.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []; // None was ever started.
    throw error;
  }
}

async function isOpen(taskId: string, tasks: Tasks): Promise<boolean> {
  try {
    return !isTerminalStatus((await tasks.inspect.get(taskId as never)).status);
  } catch (error) {
    if (error instanceof TaskNotFoundError) return false;
    throw error;
  }
}
