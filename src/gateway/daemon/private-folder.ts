import { closeSync, constants, fstatSync, mkdirSync, openSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { stateFolder } from '../../store/state-folder.ts';
import { DaemonError } from './errors.ts';

/** Owns what no user of this namespace does; the root folder of a container without privileges belongs to it. */
const OVERFLOW_UID = 65_534;
const STICKY = 0o1000;

/** Named by option or by variable, or in the user's state folder. */
export function daemonFolder(named: string | undefined, env: NodeJS.ProcessEnv): string {
  const given = [named, env['LONGCALL_RUNTIME_DIR']].find((path) => path !== undefined && path !== '');
  return given === undefined ? join(stateFolder(env), 'longcall', 'gateway') : resolve(given);
}

/**
 * Makes the folder if need be, and says where it really is. What lies in it lets others run commands as this user, so it
 * is looked at as it was opened, and so is the way that leads to it. Windows has no such modes: there the folder is what
 * the user's profile makes it.
 * @throws {DaemonError} when it is a link, or somebody else's, or open to others, or when others could replace it.
 */
export function privateFolder(path: string): string {
  if (process.platform === 'win32') {
    mkdirSync(path, { recursive: true });
    return realpathSync(path);
  }
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw refused(path, `it cannot be made (${(error as NodeJS.ErrnoException).code})`);
  }
  const real = join(realpathSync(dirname(path)), basename(path));
  const stats = openedStats(real);
  const problem = problemOf(stats, real);
  if (problem !== undefined) throw refused(real, problem);
  for (let above = dirname(real); ; above = dirname(above)) {
    const reason = replaceable(statSync(above));
    if (reason !== undefined) throw refused(real, `others can replace it, since ${above} ${reason}`);
    if (above === dirname(above)) return real;
  }
}

function refused(path: string, problem: string): DaemonError {
  const advice = 'name another folder with --state or LONGCALL_RUNTIME_DIR';
  return new DaemonError('DAEMON_FOLDER', `the folder ${path} cannot be used: ${problem}; or ${advice}`);
}

function openedStats(path: string): Stats {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ELOOP' || code === 'ENOTDIR') throw refused(path, 'it is a link or a file; remove it');
    throw refused(path, `it cannot be opened (${code})`);
  }
  try {
    return fstatSync(fd);
  } finally {
    closeSync(fd);
  }
}

function problemOf({ uid, mode }: Stats, path: string): string | undefined {
  if (uid !== process.getuid?.()) return `it belongs to another user (${uid}); remove it`;
  const open = mode & 0o777;
  return (open & 0o077) === 0 ? undefined : `it is open to others (mode ${open.toString(8)}): chmod 700 ${path}`;
}

/** Why somebody else could put another folder in the place of one in it. */
function replaceable({ uid, mode }: Stats): string | undefined {
  if ((mode & 0o002) !== 0 && (mode & STICKY) === 0)
    return `can be written by everybody (mode ${(mode & 0o777).toString(8)})`;
  const trusted = [0, process.getuid?.(), OVERFLOW_UID].includes(uid);
  return trusted ? undefined : `belongs to another user (${uid})`;
}
