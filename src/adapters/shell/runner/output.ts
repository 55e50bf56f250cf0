import type { Readable } from 'node:stream';
import type { Clock, Timer } from '../../../core/index.ts';
import { frameHeader, type OutputStream } from '../frames.ts';
import type { StreamCount } from '../job-files.ts';
import { Framer, type Piece } from './framer.ts';
import type { LogFiles } from './log-files.ts';

/** What was read is on the disk after so long. */
const FLUSH_MS = 50;
/** After so long without a byte, a line that has not ended is shown: it may be a prompt. One in the middle of which a pipe was read is none. */
const QUIET_MS = 500;
/** Or as soon as there is so much of it. */
const FLUSH_BYTES = 256 * 1024;

export interface OutputParts {
  clock: Clock;
  log: LogFiles;
  secrets: readonly string[];
  /** A piece as it was logged. */
  onPiece?: (piece: Piece) => void;
  /** So many bytes were written by now. */
  onBytes: (bytes: number) => void;
}

/** Reads what a command writes, both streams apart, into its log. */
export class Output {
  readonly #parts: OutputParts;
  readonly #framers: Record<OutputStream, Framer>;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #timer: Timer | undefined;
  readonly #quiet: Partial<Record<OutputStream, Timer>> = {};

  constructor(parts: OutputParts) {
    this.#parts = parts;
    const emit = (piece: Piece): void => this.#log(piece);
    this.#framers = {
      stdout: new Framer('stdout', parts.secrets, emit),
      stderr: new Framer('stderr', parts.secrets, emit),
    };
  }

  read(stream: OutputStream, from: Readable): void {
    from.on('data', (chunk: Buffer) => this.#push(stream, chunk));
    from.on('error', () => {}); // Of a process that is gone; its end is told otherwise.
  }

  get counts(): Record<OutputStream, StreamCount> {
    return { stdout: this.#framers.stdout.count, stderr: this.#framers.stderr.count };
  }

  /** Nothing comes any more, or nothing more is listened to. */
  end(): void {
    this.#quiet.stdout?.cancel();
    this.#quiet.stderr?.cancel();
    this.#framers.stdout.end();
    this.#framers.stderr.end();
    this.#flush();
    this.#parts.log.close();
  }

  #push(stream: OutputStream, chunk: Buffer): void {
    const framer = this.#framers[stream];
    framer.push(chunk);
    this.#quiet[stream]?.cancel();
    if (framer.isInLine) this.#quiet[stream] = this.#parts.clock.setTimer(QUIET_MS, () => this.#showOf(framer));
    const { stdout, stderr } = this.counts;
    this.#parts.onBytes(stdout.bytes + stderr.bytes);
    if (this.#waitingBytes >= FLUSH_BYTES) this.#flush();
    else this.#timer ??= this.#parts.clock.setTimer(FLUSH_MS, () => this.#flush());
  }

  #showOf(framer: Framer): void {
    framer.pause();
    this.#flush();
  }

  #log(piece: Piece): void {
    const { data, ...frame } = piece;
    const header = frameHeader({ ...frame, at: this.#parts.clock.now() }, data.length);
    this.#waiting.push(Buffer.concat([header, data])); // A copy: the chunk's memory is used again.
    this.#waitingBytes += data.length;
    this.#parts.onPiece?.(piece);
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const frames = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#parts.log.write(frames);
  }
}
