import { StreamRedactor } from '../../processes/redactor.ts';
import type { OutputStream } from '../frames.ts';
import type { StreamCount } from '../job-files.ts';

/** A piece of a stream, as it is logged. */
export interface Piece {
  stream: OutputStream;
  continues: boolean;
  overlong: boolean;
  data: Buffer;
}

/** What is shown of a line. */
const LONGEST_LINE_BYTES = 64 * 1024;
/** Whoever reads it takes frames whole, so many lines at a time. */
const FRAME_LINES = 2_000;
const LINE_FEED = 10;

/**
 * Cuts one stream of a command into pieces that are whole lines, as far as it goes: a line that does not end is shown after a
 * while, and the rest of one that is too long is kept apart. Counts what was written, before secrets are taken out.
 */
export class Framer {
  readonly count: StreamCount = { bytes: 0, lines: 0 };
  readonly #stream: OutputStream;
  readonly #redactor: StreamRedactor;
  readonly #emit: (piece: Piece) => void;
  #rest: Buffer = Buffer.alloc(0);
  /** The line that is being written began in a piece that went out. */
  #continues = false;
  #overlong = false;

  constructor(stream: OutputStream, secrets: readonly string[], emit: (piece: Piece) => void) {
    this.#stream = stream;
    this.#redactor = new StreamRedactor(secrets);
    this.#emit = emit;
  }

  push(chunk: Buffer): void {
    this.count.bytes += chunk.length;
    this.#add(this.#redactor.push(chunk));
  }

  /** A line has begun that was not shown yet. */
  get isInLine(): boolean {
    return this.#rest.length > 0;
  }

  /** Nothing came for a while: what is there of a line is shown. */
  pause(): void {
    if (this.#rest.length === 0) return;
    this.#piece(this.#rest);
    this.#rest = Buffer.alloc(0);
  }

  end(): void {
    this.#add(this.#redactor.end());
    if (this.#rest.length > 0 || this.#continues) this.count.lines += 1; // The last line has no end.
    this.pause();
  }

  #add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    const whole = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    let lines = 0;
    for (let at = whole.indexOf(LINE_FEED); at >= 0; at = whole.indexOf(LINE_FEED, at + 1)) {
      lines += 1;
      this.count.lines += 1;
      // A long line is a piece by itself.
      const alone = this.#overlong || lines >= FRAME_LINES || at - from >= LONGEST_LINE_BYTES;
      if (!alone) continue;
      this.#piece(whole.subarray(from, at + 1));
      from = at + 1;
      lines = 0;
    }
    const end = whole.lastIndexOf(LINE_FEED) + 1;
    if (end > from) this.#piece(whole.subarray(from, end));
    this.#rest = Buffer.from(whole.subarray(Math.max(from, end))); // A copy: the chunk's memory is used again.
    if (this.#rest.length < LONGEST_LINE_BYTES) return;
    const cut = wholeCharacters(this.#rest);
    this.#piece(this.#rest.subarray(0, cut));
    this.#rest = Buffer.from(this.#rest.subarray(cut));
    this.#overlong = true;
  }

  #piece(data: Buffer): void {
    this.#emit({ stream: this.#stream, continues: this.#continues, overlong: this.#overlong, data });
    this.#continues = data.at(-1) !== LINE_FEED;
    this.#overlong &&= this.#continues;
  }
}

/** Up to where it has no half of a character. */
function wholeCharacters(bytes: Buffer): number {
  let end = bytes.length;
  for (let back = 1; back <= 4 && end - back >= 0; back += 1) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (length > back) end -= back;
    break;
  }
  return end;
}
