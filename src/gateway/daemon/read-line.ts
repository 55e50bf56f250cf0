import type { Readable } from 'node:stream';

/** The stream ended before there was a line. */
export class HungUpError extends Error {
  override readonly name = 'HungUpError';
}

/**
 * Reads one line and leaves what follows in the stream.
 * @throws {HungUpError} when the stream ends before it.
 * @throws when it is longer than it may be.
 */
export function readLine(stream: Readable, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (): void => {
      stream.off('readable', look).off('end', ended).off('close', ended).off('error', failed);
    };
    const failed = (error: Error): void => {
      done();
      reject(error);
    };
    const ended = (): void => failed(new HungUpError('the other side hung up'));
    /** Whether there is more to be had of it. */
    const take = (chunk: Buffer): boolean => {
      const end = chunk.indexOf(10);
      const line = end < 0 ? chunk : chunk.subarray(0, end);
      size += line.length;
      chunks.push(line);
      if (size > maxBytes) failed(new Error(`a line is longer than ${maxBytes} bytes`));
      else if (end >= 0) {
        done();
        if (end + 1 < chunk.length) stream.unshift(chunk.subarray(end + 1));
        resolve(Buffer.concat(chunks).toString('utf8'));
      }
      return end < 0 && size <= maxBytes;
    };
    const look = (): void => {
      let chunk = stream.read() as Buffer | null;
      while (chunk !== null) {
        if (!take(chunk)) return;
        chunk = stream.read() as Buffer | null;
      }
      if (stream.readableEnded || stream.destroyed) ended();
    };
    stream.on('readable', look).on('end', ended).on('close', ended).on('error', failed);
    look();
  });
}
