import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * Where programs of this user keep what lasts between their runs.
 * @see XDG Base Directory Specification: a relative path is to be ignored
 */
export function stateFolder({ XDG_STATE_HOME, LOCALAPPDATA }: NodeJS.ProcessEnv): string {
  if (XDG_STATE_HOME !== undefined && isAbsolute(XDG_STATE_HOME)) return XDG_STATE_HOME;
  if (process.platform === 'win32' && LOCALAPPDATA !== undefined) return LOCALAPPDATA;
  return join(homedir(), '.local', 'state');
}
