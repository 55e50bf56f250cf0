import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process of ours and what is known of its end. */
export interface Child {
  process: ChildProcess;
  /** Resolves when it has ended. */
  gone: Promise<number | NodeJS.Signals | null>;
}

const living = new Set<ChildProcess>();
// However the bench ends, nothing of it stays: those who could not be asked to leave are killed.
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** Starts `servers/<name>.ts`, which talks over IPC and ends when the channel closes. */
export function startChild(name: string, args: string[], flags: string[] = []): Child {
  const file = fileURLToPath(new URL(`../servers/${name}.ts`, import.meta.url));
  const child = fork(file, args, {
    stdio: ['ignore', 2, 2, 'ipc'], // Our stdout is for the figures alone.
    execArgv: [...process.execArgv, ...flags],
  });
  living.add(child);
  const gone = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (status, signal) => {
      living.delete(child);
      resolve(signal ?? status);
    });
  });
  return { process: child, gone };
}
