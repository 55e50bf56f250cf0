import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../../core/index.ts';

/** Wakes whoever waits when something changes in a folder, or somebody says so. Keeps the process alive meanwhile. */
export class FolderNews {
  readonly #clock: Clock;
  readonly #watcher: FSWatcher | undefined;
  readonly #keepAlive = setInterval(() => {}, 60_000);
  #wake = (): void => {};
  #rung = false;

  constructor(folder: string, clock: Clock) {
    this.#clock = clock;
    try {
      this.#watcher = watch(folder, () => this.ring());
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
