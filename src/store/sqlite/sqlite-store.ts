import { StoreRefusedError } from '../../core/index.ts';
import { type EncryptionOptions, keyRing } from '../encryption.ts';
import type { KeyRing } from '../sql/vault.ts';
import type { StoreBackend, StoreEnvironment } from '../store.ts';
import { openDatabase } from './open.ts';
import { openOn } from './sqlite-task-store.ts';
import { unlock } from './unlock.ts';

export interface SqliteStoreOptions {
  /**
   * Encrypts payloads on their way into the file (AES-256-GCM): arguments, results, errors, steps, questions, answers,
   * progress, logs. Every process on the file needs it. Keys are read when the store is opened.
   * @default none: payloads are kept as they are, and what is encrypted stays shut
   */
  encryption?: EncryptionOptions;
}

/**
 * Tasks in one SQLite file: the default for one machine. Nothing else has to be installed or run.
 *
 * The file is created if there is none (mode 0600; its folder 0700) and brought up to date. Several processes of one
 * machine may share it. Every acknowledged write is flushed (`synchronous=FULL`), many writers sharing one flush.
 * @param path the file, or `':memory:'` for tasks that live as long as the process
 * @throws {TypeError} when the path or a key is none.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): StoreBackend {
  if (typeof path !== 'string' || path.trim() === '') {
    throw new TypeError(`sqliteStore: path must be a file name or ':memory:', got ${JSON.stringify(path)}`);
  }
  const { encryption } = options;
  const given = encryption === undefined || 'file' in encryption ? undefined : keyRing(encryption); // A mistake shows at once.
  return {
    async open(environment: StoreEnvironment) {
      const ring = given ?? (encryption && ringToOpen(encryption));
      const db = await openDatabase(path, environment.logger);
      return openOn(db, path, environment, { vault: await unlock(db, path, ring, environment.random) });
    },
  };
}

/** A key file is read when the store is opened, and one that cannot be used is a reason not to. */
function ringToOpen(encryption: EncryptionOptions): KeyRing {
  try {
    return keyRing(encryption);
  } catch (error) {
    throw new StoreRefusedError((error as Error).message, { cause: error });
  }
}
