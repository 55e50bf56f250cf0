import { closeSync, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { segmentPath } from '../log-segments.ts';
import { note } from './note.ts';

interface Limits {
  headBytes: number;
  tailBytes: number;
}

interface Kept {
  path: string;
  bytes: number;
}

interface Opened {
  fd: number;
  kept: Kept;
  isHead: boolean;
}

/** Of the end, so many pieces are kept, the oldest of which goes when there is a new one. */
const TAIL_SEGMENTS = 8;
const LEAST_SEGMENT_BYTES = 64 * 1024;

/** The log of a job on the disk: its beginning and its end, whatever lies between. Writes at once: a runner has nothing else to do. */
export class LogFiles {
  readonly #folder: string;
  readonly #limits: Limits;
  readonly #segmentBytes: number;
  /** Those of the end, oldest first. */
  readonly #tail: Kept[] = [];
  #open: Opened | undefined;
  #position = 0;
  #told = false;

  constructor(folder: string, limits: Limits) {
    this.#folder = folder;
    this.#limits = limits;
    this.#segmentBytes = Math.max(LEAST_SEGMENT_BYTES, Math.floor(limits.tailBytes / TAIL_SEGMENTS));
  }

  /**
   * Writes frames. Where the disk takes no more, they are left out: the command goes on all the same, and the next ones may find
   * room.
   */
  write(frames: readonly Buffer[]): void {
    let group: Buffer[] = [];
    let bytes = 0;
    for (const frame of frames) {
      if (bytes > 0 && bytes + frame.length > this.#room) {
        this.#writeWhole(Buffer.concat(group, bytes));
        group = [];
        bytes = 0;
      }
      group.push(frame);
      bytes += frame.length;
    }
    if (bytes > 0) this.#writeWhole(Buffer.concat(group, bytes));
  }

  close(): void {
    if (this.#open !== undefined) closeSync(this.#open.fd);
    this.#open = undefined;
  }

  /** How much the piece that is being written takes yet. */
  get #room(): number {
    if (this.#open === undefined) return this.#position === 0 ? this.#limits.headBytes : this.#segmentBytes;
    return (this.#open.isHead ? this.#limits.headBytes : this.#segmentBytes) - this.#open.kept.bytes;
  }

  #writeWhole(frames: Buffer): void {
    const open = this.#segmentFor(frames.length);
    try {
      if (open !== undefined) writeAll(open.fd, frames);
    } catch (error) {
      this.#leftOut(error);
      this.#leave(open);
    }
    this.#position += frames.length;
    if (this.#open !== undefined) this.#open.kept.bytes += frames.length;
  }

  #segmentFor(bytes: number): Opened | undefined {
    const open = this.#open;
    if (open !== undefined) {
      if (open.kept.bytes === 0 || bytes <= this.#room) return open;
      this.close();
    }
    const kept = { path: segmentPath(this.#folder, this.#position), bytes: 0 };
    try {
      this.#open = { fd: openSync(kept.path, 'wx', 0o600), kept, isHead: this.#position === 0 };
    } catch (error) {
      this.#leftOut(error);
      return undefined;
    }
    if (!this.#open.isHead) this.#tail.push(kept);
    this.#dropOldest();
    return this.#open;
  }

  /** Room for a whole piece is made before it is written: the limit holds at every moment. */
  #dropOldest(): void {
    let sum = this.#tail.reduce((bytes, kept) => bytes + kept.bytes, 0);
    while (this.#tail.length > 1 && sum > this.#limits.tailBytes - this.#segmentBytes) {
      const oldest = this.#tail.shift();
      if (oldest === undefined) return;
      rmSync(oldest.path, { force: true });
      sum -= oldest.bytes;
    }
  }

  /** For operators, once: a command is not to suffer from where its output is kept. */
  #leftOut(error: unknown): void {
    if (!this.#told) note(`output could not be written and is left out: ${String(error)}`);
    this.#told = true;
  }

  /** Takes half a frame away; what comes next is a piece of its own. */
  #leave(open: Opened | undefined): void {
    if (open === undefined) return;
    if (fstatSync(open.fd).size > open.kept.bytes) ftruncateSync(open.fd, open.kept.bytes);
    this.close();
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}
