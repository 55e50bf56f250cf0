import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * A process, told apart from another that gets its number later: by when it started, in which boot of the machine, and in
 * which namespace the number means anything (two containers of one machine have the same boot).
 */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot on Linux, a date elsewhere; only ever compared. */
  started: string;
  boot: string;
  namespace: string;
}

export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  session: number;
  started: string;
  /** It ended, and its parent has not taken note yet. */
  zombie: boolean;
}

export type ProcessTable = ReadonlyMap<number, ProcessRow>;

const LINUX = process.platform === 'linux';

/** All processes of this machine that can be seen; none on Windows, where processes have no families. */
export function processTable(): ProcessTable {
  if (process.platform === 'win32') return new Map();
  const rows = LINUX ? linuxRows() : posixRows();
  return new Map(rows.map((row) => [row.pid, row]));
}

/** One process, `undefined` when it is gone. */
function processRow(pid: number): ProcessRow | undefined {
  if (LINUX) return linuxRow(pid);
  return process.platform === 'win32' ? undefined : posixRows(pid)[0];
}

/** Who has this number now; `undefined`: nobody, or no way to know. */
export function identify(pid: number): ProcessIdentity | undefined {
  const row = processRow(pid);
  return row === undefined ? undefined : { pid, started: row.started, ...machine() };
}

/** Whether that process, and no other of its number, lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  const here = machine();
  if (identity.boot !== here.boot || identity.namespace !== here.namespace) return false;
  const row = processRow(identity.pid);
  return row !== undefined && !row.zombie && row.started === identity.started;
}

/** What process numbers of now are compared in: they mean nothing after a reboot or in another container. */
export function machine(): { boot: string; namespace: string } {
  if (!LINUX) return { boot: '', namespace: '' };
  return {
    boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    namespace: readlinkSync('/proc/self/ns/pid'),
  };
}

/**
 * Processes of this user that were started with a variable, as `NAME=value`, on Linux: whoever started them may have gone, and they
 * may lead sessions of their own. One that was started without its parent's environment is not found.
 */
export function markedWith(variable: string): ProcessIdentity[] {
  if (!LINUX) return [];
  const here = machine();
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || !environmentOf(name).includes(variable)) return [];
    const row = linuxRow(Number(name));
    return row === undefined || row.zombie ? [] : [{ pid: row.pid, started: row.started, ...here }];
  });
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return []; // Gone, or not ours to look at.
  }
}

/** Where the standard streams of a process lead, on Linux: `socket:[12345]` is one end of one connection of this machine. */
export function standardStreams(pid: number): string[] {
  if (!LINUX) return [];
  return [0, 1, 2].flatMap((fd) => {
    try {
      const link = readlinkSync(`/proc/${pid}/fd/${fd}`);
      return /^(socket|pipe):/.test(link) ? [link] : [];
    } catch {
      return []; // Gone, or not ours to look at.
    }
  });
}

function linuxRows(): ProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    const row = /^\d+$/.test(name) ? linuxRow(Number(name)) : undefined;
    return row === undefined ? [] : [row];
  });
}

/** @see proc_pid_stat(5): the name is in parentheses and may hold any character, parentheses too. */
function linuxRow(pid: number): ProcessRow | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  const started = fields[19];
  if (started === undefined) return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    started,
    zombie: state === 'Z' || state === 'X',
  };
}

function posixRows(pid?: number): ProcessRow[] {
  const which = pid === undefined ? ['-A'] : ['-p', String(pid)];
  let text: string;
  try {
    text = execFileSync('ps', [...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart='], { encoding: 'utf8' });
  } catch {
    return []; // No such process, or no `ps`.
  }
  return text.split('\n').flatMap((line) => {
    const [own, parent, group, state, ...started] = line.trim().split(/\s+/);
    if (own === undefined || started.length === 0) return [];
    const numbers = { pid: Number(own), parent: Number(parent), group: Number(group), session: Number(group) };
    return [{ ...numbers, started: started.join(' '), zombie: state?.startsWith('Z') === true }];
  });
}
