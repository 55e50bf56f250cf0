import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stateFolder } from '../../store/state-folder.ts';

/** Where calls are kept: the file that was named, or the one in the user's state folder. */
export interface Place {
  journal: string;
  named: boolean;
  /** What is remembered of servers by name, beside the journal. */
  servers: string;
}

/** @param named from `--journal` or `LONGCALL_JOURNAL` */
export function placeOf(named: string | undefined, env: NodeJS.ProcessEnv): Place {
  const journal = named === undefined || named === '' ? join(stateFolder(env), 'longcall', 'calls.db') : resolve(named);
  return { journal, named: named !== undefined && named !== '', servers: `${journal}.servers` };
}

/** Makes the folder of the default place, open to nobody else. One that was named has to be there. */
export function preparePlace({ journal, named }: Place): void {
  if (!named) mkdirSync(dirname(journal), { recursive: true, mode: 0o700 });
}
