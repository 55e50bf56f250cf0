import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { turns, type Work } from './work.ts';

const block = Buffer.alloc(4_096, 'x');

/** A file that grows by 4 kB and a flush at a time: what the disk gives to the simplest durable program. */
export class AppendedFile {
  readonly #descriptor: number;

  constructor(folder: string) {
    this.#descriptor = openSync(join(folder, 'appended'), 'a', 0o600);
  }

  /** Appends and flushes `count` times, or as often as `maxMs` allow. */
  append(count: number, maxMs: number): Work {
    let done = 0;
    const startedAt = performance.now();
    for (const _ of turns(count, maxMs)) {
      writeSync(this.#descriptor, block);
      fsyncSync(this.#descriptor);
      done += 1;
    }
    return { done, seconds: (performance.now() - startedAt) / 1_000 };
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
