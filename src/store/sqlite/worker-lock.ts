import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FileLock } from './file-lock.ts';

/** Ends the ids of workers that hold a lock file; for the others only the lease speaks. */
const LOCKED = '+lock';

/**
 * Proof of life between processes of one machine: a worker holds a lock of its own, and the operating system lets go of it
 * the moment the process dies. Right also with a blocked event loop, and across containers that share a volume, where
 * process ids prove nothing.
 */
export class WorkerLocks {
  readonly #folder: string;
  readonly #held = new Map<string, FileLock>();

  /** @param folder where the lock files of all workers of one store lie */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Takes the lock; the result is the id to lease tasks under. Where no lock can be had, it says nothing about locks. */
  hold(workerId: string): string {
    const id = `${workerId}${LOCKED}`;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const lock = FileLock.take(this.#path(id));
      if (lock === undefined) return workerId;
      this.#held.set(id, lock);
      return id;
    } catch {
      return workerId; // An odd file system: the lease decides, as it does between machines.
    }
  }

  /** Lets go of the lock, as dying would. */
  release(id: string): void {
    const lock = this.#held.get(id);
    if (lock === undefined) return;
    this.#held.delete(id);
    lock.release();
    rmSync(this.#path(id), { force: true });
  }

  releaseAll(): void {
    for (const id of [...this.#held.keys()]) this.release(id);
  }

  /** Whether the worker lives; `unknown` where it holds no lock file. */
  probe(id: string): 'alive' | 'dead' | 'unknown' {
    if (this.#held.has(id)) return 'alive';
    if (!id.endsWith(LOCKED)) return 'unknown';
    const path = this.#path(id);
    if (!existsSync(path)) return 'dead'; // Only its own end, or somebody who found it dead, removes it.
    try {
      const lock = FileLock.take(path, { mustExist: true });
      if (lock === undefined) return 'alive';
      rmSync(path, { force: true });
      lock.release();
      return 'dead';
    } catch {
      return 'unknown';
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${encodeURIComponent(id)}.lock`);
  }
}
