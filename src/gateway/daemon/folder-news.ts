import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../../core/index.ts';

/** Wakes whoever waits when a file in a folder changes, or somebody says so. Keeps the process alive meanwhile. */
export class FolderNews {
  readonly #clock: Clock;
  readonly #watcher: FSWatcher | undefined;
  readonly #keepAlive = setInterval(() => {}, 60_000);
  #wake = (): void => {};
  #rung = false;

  constructor(path: string, clock: Clock) {
    this.#clock = clock;
    const file = basename(path);
    try {
      // Node reads its events to the last before anything else happens: what is done about one may not be in between.
      this.#watcher = watch(dirname(path), (_event, name) => {
        if (name === null || name === file) setImmediate(() => this.ring());
      });
      this.#watcher.on('error', () => {});
    } catch {
      // Not on every file system, and there is a limit to how many: then it is looked every so often.
    }
  }

  ring(): void {
    this.#rung = true;
    this.#wake();
  }

  /** Resolves when it rings, at once if it has rung since the last time, and after a while in any case. */
  async next(orAfterMs: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(orAfterMs, resolve);
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    this.#rung = false;
  }

  close(): void {
    clearInterval(this.#keepAlive);
    this.#watcher?.close();
  }
}
