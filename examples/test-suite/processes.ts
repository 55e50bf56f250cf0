// What runs on this machine, by what Linux tells.
import { readdirSync, readFileSync } from 'node:fs';

/** Processes with such a variable, as `NAME=value`. */
export function processesWith(variable: string): number[] {
  return pids().filter((pid) => wordsIn(pid, 'environ').includes(variable));
}

/** The key of the job that runs with such a variable: every process of a job has it, as LONGCALL_JOB. */
export function jobWith(variable: string): string {
  const prefix = 'LONGCALL_JOB=';
  const [pid] = processesWith(variable);
  const key = pid === undefined ? undefined : wordsIn(pid, 'environ').find((word) => word.startsWith(prefix));
  if (key === undefined) throw new Error(`no job runs with ${variable}`);
  return key.slice(prefix.length);
}

/** The processes of a job, and that which watches over them. */
export function processesOf(job: string): number[] {
  const watches = (pid: number): boolean => wordsIn(pid, 'cmdline').some((word) => word.endsWith(`/${job}`));
  return [...processesWith(`LONGCALL_JOB=${job}`), ...pids().filter(watches)];
}

function pids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

function wordsIn(pid: number, file: 'environ' | 'cmdline'): string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch {
    return []; // It ended, or is somebody else's.
  }
}
