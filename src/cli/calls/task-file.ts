import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { daemonFolder } from '../../gateway/daemon/private-folder.ts';

/** How ids of tasks begin; those of calls begin otherwise. */
const TASK = 'tsk_';

/**
 * The file in which a task of this id is looked for: the one that is named, or that of the user's daemon. `undefined`: it is the id
 * of a call.
 */
export function taskFileOf(id: string, named: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (named !== undefined) return named;
  if (!id.startsWith(TASK)) return undefined;
  const file = join(daemonFolder(undefined, env), 'tasks.db');
  return existsSync(file) ? file : undefined;
}
