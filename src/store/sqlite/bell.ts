import { closeSync, constants, type FSWatcher, openSync, watch, write } from 'node:fs';
import type { Logger } from '../../core/index.ts';

const BYTE = Buffer.from('!');
/** Nothing is cut off, and no link followed: whatever else may lie under this name stays as it is. */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0);

/**
 * Wakes other processes on the same file: one byte is written to a file of its own after a commit, and everybody watches
 * that file. It carries no data, so a lost or spurious ring does no harm.
 */
export class Bell {
  readonly #fd: number;
  readonly #logger: Logger;
  #watcher: FSWatcher | undefined;
  #ringing = false;
  #closed = false;

  /** @param onRing called after any process rang, this one included */
  constructor(path: string, onRing: () => void, logger: Logger) {
    this.#logger = logger;
    this.#fd = openSync(path, FLAGS, 0o600);
    try {
      this.#watcher = watch(path, { persistent: false }, onRing);
      this.#watcher.on('error', (error) => this.#mute(error));
    } catch (error) {
      this.#mute(error);
    }
  }

  /** Rings once, however often it is called before the event loop comes round. */
  ring(): void {
    if (this.#ringing || this.#closed) return;
    this.#ringing = true;
    setImmediate(() => {
      this.#ringing = false;
      if (this.#closed) return;
      write(this.#fd, BYTE, 0, 1, 0, (error) => {
        if (error !== null && !this.#closed) this.#logger.warn({ error }, 'other processes could not be woken');
      });
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#watcher?.close();
    closeSync(this.#fd);
  }

  #mute(error: unknown): void {
    this.#logger.warn({ error }, 'the bell file cannot be watched; polling for changes instead');
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
