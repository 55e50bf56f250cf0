/** Shorter ones are in too many words to be taken out. */
const SHORTEST = 4;
const GONE = '[redacted]';

/** What is looked for: of a secret that has several lines, each line; also as it stands in an address or in JSON. Longest first. */
function partsOf(secrets: readonly string[]): string[] {
  const parts = secrets
    .flatMap((secret) => secret.split(/\r?\n/))
    .map((part) => part.trim())
    .filter(({ length }) => length >= SHORTEST)
    .flatMap((part) => [
      part,
      encodeURIComponent(Buffer.from(part).toString('utf8')),
      JSON.stringify(part).slice(1, -1),
    ]);
  return [...new Set(parts)].sort((one, other) => other.length - one.length);
}

/** Takes secrets out of texts; of one that has several lines, each line. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const parts = partsOf(secrets);
  return (text) => parts.reduce((rest, part) => rest.replaceAll(part, GONE), text);
}

/** Takes secrets out of what is written piece by piece, also where one is cut in two. */
export class StreamRedactor {
  /** Each letter a byte. */
  readonly #parts: readonly string[];
  #held = '';

  constructor(secrets: readonly string[]) {
    this.#parts = partsOf(secrets).map((part) => Buffer.from(part, 'utf8').toString('latin1'));
  }

  /** What can be shown by now. What may be the beginning of a secret waits for what comes after it. */
  push(chunk: Buffer): Buffer {
    if (this.#parts.length === 0) return chunk;
    const text = this.#without(this.#held + chunk.toString('latin1'));
    const shown = text.length - this.#beginning(text);
    this.#held = text.slice(shown);
    return Buffer.from(text.slice(0, shown), 'latin1');
  }

  /** Nothing comes any more. */
  end(): Buffer {
    const rest = Buffer.from(this.#held, 'latin1');
    this.#held = '';
    return rest;
  }

  #without(text: string): string {
    return this.#parts.reduce((rest, part) => rest.replaceAll(part, GONE), text);
  }

  /** How many letters at the end are the beginning of a secret. */
  #beginning(text: string): number {
    let longest = 0;
    for (const part of this.#parts) {
      for (let length = Math.min(part.length - 1, text.length); length > longest; length -= 1) {
        if (text.endsWith(part.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
