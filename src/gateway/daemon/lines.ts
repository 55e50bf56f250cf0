import type { Readable } from 'node:stream';

/**
 * The lines of a stream with their ends, those of a chunk together. What has no end when the stream ends is none.
 * @throws when a line is longer than it may be.
 */
export async function* lines(stream: Readable, maxBytes: number): AsyncGenerator<Buffer[]> {
  let begun: Buffer[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    const found: Buffer[] = [];
    let from = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      const rest = piece.subarray(from, end + 1);
      found.push(begun.length === 0 ? rest : Buffer.concat([...begun, rest]));
      begun = [];
      size = 0;
      from = end + 1;
    }
    if (from < piece.length) {
      begun.push(piece.subarray(from));
      size += piece.length - from;
      if (size > maxBytes) throw new Error(`a message is longer than ${maxBytes} bytes`);
    }
    if (found.length > 0) yield found;
  }
}
