const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENS: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const CLOSES: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const COLON = 0x3a;
const COMMA = 0x2c;
/** Longer ids are nobody's. */
const VALUE_BYTES = 512;

/**
 * Reads through a message that is too long to be kept, to learn whose it is: the members `id` and `method` of its outermost
 * object, wherever in it they stand.
 */
export class OversizedMessage {
  #bytes = 0;
  #depth = 0;
  #inText = false;
  #escaped = false;
  /** What is being read at the outermost level: a name, or the value of a name that matters. */
  #name = '';
  #piece: number[] = [];
  #readsValue = false;
  #id: string | number | undefined;
  #method: string | undefined;

  /** How long it is so far. */
  get bytes(): number {
    return this.#bytes;
  }

  get id(): string | number | undefined {
    return this.#id;
  }

  /** Absent on answers. */
  get method(): string | undefined {
    return this.#method;
  }

  push(chunk: Buffer): void {
    this.#bytes += chunk.length;
    for (const byte of chunk) this.#take(byte);
  }

  #take(byte: number): void {
    if (this.#inText) {
      this.#gather(byte);
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inText = false;
      return;
    }
    if (byte === QUOTE) {
      this.#inText = true;
      this.#gather(byte);
    } else if (OPENS.has(byte)) this.#depth += 1;
    else if (CLOSES.has(byte)) {
      if (this.#depth === 1) this.#member();
      this.#depth -= 1;
    } else if (this.#depth !== 1) return;
    else if (byte === COLON) {
      this.#name = this.#text();
      this.#readsValue = true;
    } else if (byte === COMMA) this.#member();
    else this.#gather(byte);
  }

  #gather(byte: number): void {
    if (this.#depth === 1 && this.#piece.length < VALUE_BYTES) this.#piece.push(byte);
  }

  #member(): void {
    const value = this.#readsValue ? this.#text() : '';
    this.#readsValue = false;
    if (this.#name === '"id"') this.#id = scalar(value);
    if (this.#name === '"method"') this.#method = String(scalar(value));
    this.#name = '';
  }

  #text(): string {
    const text = Buffer.from(this.#piece).toString('utf8').trim();
    this.#piece = [];
    return text;
  }
}

/** Nothing else is an id or a method. */
function scalar(text: string): string | number | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' || Number.isSafeInteger(value) ? (value as string | number) : undefined;
  } catch {
    return undefined;
  }
}
