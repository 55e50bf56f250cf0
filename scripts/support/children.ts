import type { ChildProcess } from 'node:child_process';

/** How long a process may take to end before it is killed, in milliseconds. */
const PATIENCE_MS = 5_000;

const running = new Set<ChildProcess>();

/** Remembers a process until it has ended, so that it is ended with us whatever happens. */
export function track<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.once('error', () => running.delete(child)); // It never started.
  return child;
}

/** Waits until a process has ended, and kills it if it takes too long: its exit code, or the signal that ended it. */
export async function ended(child: ChildProcess, patienceMs = PATIENCE_MS): Promise<number | NodeJS.Signals> {
  const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  try {
    if (running.has(child)) {
      await new Promise<void>((resolve, reject) => {
        child.once('exit', () => resolve());
        child.once('error', reject);
      });
    }
    return child.signalCode ?? child.exitCode ?? 1;
  } finally {
    clearTimeout(late);
  }
}

/** Ends everything that is still running, each process by its own id. */
export async function endAll(): Promise<void> {
  await Promise.all(
    [...running].map((child) => {
      child.kill('SIGTERM');
      return ended(child);
    }),
  );
}
