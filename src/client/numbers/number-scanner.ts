const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const DATA = [...Buffer.from('data:')];
/** So many digits every number keeps. */
const SAFE_DIGITS = 15;
/** A number that is longer is no number that anybody could mean. */
const LONGEST_NUMBER = 400;

/**
 * Looks through JSON as it was written for numbers that JavaScript changes when it reads them: integers beyond 2^53 − 1, more digits
 * than a double holds, exponents beyond its range. Takes bytes in whatever pieces they come, and keeps none of them.
 */
export class NumberScanner {
  readonly #events: boolean;
  /** How much of `data:` was seen at the beginning of a line; `undefined`: the line is another. */
  #prefix: number | undefined = 0;
  #inString = false;
  /** Whether the piece before ended with a backslash that escapes what comes next. */
  #escapes = false;
  #number = '';
  #found = false;

  /** @param form `events`: what an event stream has in its lines of data */
  constructor(form: 'json' | 'events') {
    this.#events = form === 'events';
  }

  /** Whether there was one. */
  get found(): boolean {
    return this.#found;
  }

  push(chunk: Uint8Array): void {
    if (!this.#events) {
      this.#scan(chunk);
      return;
    }
    let from = 0;
    for (let at = lineEnd(chunk, 0); at !== -1 && !this.#found; at = lineEnd(chunk, from)) {
      this.#line(chunk.subarray(from, at));
      this.#endOfLine();
      from = at + 1;
    }
    if (!this.#found) this.#line(chunk.subarray(from));
  }

  /** Nothing follows. */
  end(): void {
    this.#endOfNumber();
  }

  #line(piece: Uint8Array): void {
    let at = 0;
    for (; this.#prefix !== undefined && this.#prefix < DATA.length && at < piece.length; at += 1) {
      this.#prefix = piece[at] === DATA[this.#prefix] ? this.#prefix + 1 : undefined;
    }
    if (this.#prefix === DATA.length) this.#scan(piece.subarray(at));
  }

  /** No text and no number of JSON goes over a line's end. */
  #endOfLine(): void {
    this.#endOfNumber();
    this.#prefix = 0;
    this.#inString = false;
    this.#escapes = false;
  }

  #scan(piece: Uint8Array): void {
    for (let at = 0; at < piece.length && !this.#found; ) {
      if (this.#inString) {
        at = this.#endOfString(piece, at);
        continue;
      }
      const byte = piece[at] as number;
      at += 1;
      if (this.#number === '' ? beginsNumber(byte) : continuesNumber(byte)) {
        if (this.#number.length < LONGEST_NUMBER) this.#number += String.fromCharCode(byte);
        continue;
      }
      this.#endOfNumber();
      this.#inString = byte === QUOTE;
    }
  }

  /** @returns where to go on: most of what servers say is text, and passed over at one go */
  #endOfString(piece: Uint8Array, from: number): number {
    let begin = from;
    if (this.#escapes) {
      this.#escapes = false;
      begin += 1;
    }
    for (;;) {
      const quote = piece.indexOf(QUOTE, begin);
      const end = quote === -1 ? piece.length : quote;
      let backslashes = 0;
      while (end - backslashes > begin && piece[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const escaped = backslashes % 2 === 1;
      if (quote === -1) {
        this.#escapes = escaped;
        return piece.length;
      }
      if (!escaped) {
        this.#inString = false;
        return quote + 1;
      }
      begin = quote + 1;
    }
  }

  #endOfNumber(): void {
    if (this.#number !== '') this.#found ||= isChanged(this.#number);
    this.#number = '';
  }
}

/** Whether a number of JSON is another one once JavaScript has read it. `1.0` and `1` are one number. */
export function isChanged(written: string): boolean {
  const [mantissa = ''] = written.split(/e/i);
  if (mantissa.length <= SAFE_DIGITS && mantissa.length === written.length) return false;
  const read = Number(written);
  if (Number.isNaN(read)) return false; // It is none.
  return plain(written) !== plain(String(read));
}

/** Its digits without zeros around them, and the power of ten behind them. */
function plain(written: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(written) ?? [];
  if (whole === '' && fraction === '') return written; // Infinity.
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${sign}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}

function lineEnd(chunk: Uint8Array, from: number): number {
  const feed = chunk.indexOf(LINE_FEED, from);
  const carriage = chunk.subarray(from, feed === -1 ? undefined : feed).indexOf(CARRIAGE_RETURN);
  return carriage === -1 ? feed : from + carriage;
}

/** A digit, or a minus. */
function beginsNumber(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d;
}

/** Also a dot, a plus, or an e. */
function continuesNumber(byte: number): boolean {
  return beginsNumber(byte) || byte === 0x2e || byte === 0x2b || byte === 0x65 || byte === 0x45;
}
