import type { StoreBackend, StoreEnvironment } from '../store.ts';
import { openDatabase } from './open.ts';
import { openOn } from './sqlite-task-store.ts';

/**
 * Tasks in one SQLite file: the default for one machine. Nothing else has to be installed or run.
 *
 * The file is created if there is none (mode 0600; its folder 0700) and brought up to date. Several processes of one
 * machine may share it. Every acknowledged write is flushed (`synchronous=FULL`), many writers sharing one flush.
 * @param path the file, or `':memory:'` for tasks that live as long as the process
 */
export function sqliteStore(path: string): StoreBackend {
  if (typeof path !== 'string' || path.trim() === '') {
    throw new TypeError(`sqliteStore: path must be a file name or ':memory:', got ${JSON.stringify(path)}`);
  }
  return {
    async open(environment: StoreEnvironment) {
      return openOn(await openDatabase(path, environment.logger), path, environment);
    },
  };
}
