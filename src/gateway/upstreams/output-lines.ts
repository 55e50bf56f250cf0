import { StringDecoder } from 'node:string_decoder';

/** What is shown of a line. */
const SHOWN_CHARS = 4_096;
/** What is looked at of a line. */
const READ_CHARS = 65_536;
const LONGEST_SECRET_CHARS = 16_384;
const KEPT_LINES = 200;
const KEPT_CHARS = 262_144;

/**
 * Reads what a process says for people, line by line, however much it is: the last lines are kept, each cut to what can be
 * read, and secrets are taken out before anything is kept or told.
 */
export class OutputLines {
  readonly #redact: (line: string) => string;
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  readonly #kept: string[] = [];
  #keptChars = 0;
  #rest = '';
  #count = 0;

  constructor(redact: (line: string) => string, onLine: (line: string) => void = () => {}) {
    this.#redact = redact;
    this.#onLine = onLine;
  }

  /** How many lines there were. */
  get count(): number {
    return this.#count;
  }

  /** The last lines, oldest first. */
  tail(lines: number): string[] {
    return lines === 0 ? [] : this.#kept.slice(-lines);
  }

  push(chunk: Buffer): void {
    const pieces = this.#decoder.write(chunk).split(/\r?\n/);
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      this.#line(this.#rest + piece.slice(0, READ_CHARS));
      this.#rest = '';
    }
    if (this.#rest.length < READ_CHARS) this.#rest += last.slice(0, READ_CHARS);
  }

  /** A line that was told elsewhere, e.g. one on the other stream. */
  add(line: string): void {
    this.#line(line);
  }

  end(): void {
    if (this.#rest !== '') this.#line(this.#rest);
    this.#rest = '';
  }

  #line(text: string): void {
    if (text.trim() === '') return;
    this.#count += 1;
    const read = this.#redact(text.slice(0, READ_CHARS).trimEnd());
    // What was cut may have been cut within a secret: its beginning is not shown either.
    const clean = text.length < READ_CHARS ? read : read.slice(0, -LONGEST_SECRET_CHARS);
    const line = clean.length > SHOWN_CHARS ? `${clean.slice(0, SHOWN_CHARS)}…` : clean;
    this.#kept.push(line);
    this.#keptChars += line.length;
    while (this.#kept.length > KEPT_LINES || (this.#keptChars > KEPT_CHARS && this.#kept.length > 1)) {
      this.#keptChars -= this.#kept.shift()?.length ?? 0;
    }
    this.#onLine(line);
  }
}
