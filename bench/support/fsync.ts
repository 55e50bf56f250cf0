import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const block = Buffer.alloc(4_096, 'x');

/** A file that grows by 4 kB and a flush at a time: what the disk gives to the simplest durable program. */
export class AppendedFile {
  readonly #descriptor: number;

  constructor(folder: string) {
    this.#descriptor = openSync(join(folder, 'appended'), 'a', 0o600);
  }

  /** Appends and flushes `count` times. Returns how many times that is per second. */
  append(count: number): number {
    const startedAt = performance.now();
    for (let n = 0; n < count; n += 1) {
      writeSync(this.#descriptor, block);
      fsyncSync(this.#descriptor);
    }
    return count / ((performance.now() - startedAt) / 1_000);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
