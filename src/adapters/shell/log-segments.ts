import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** A piece of a job's log. Positions are bytes from the beginning of all that was ever written, kept or not. */
export interface Segment {
  start: number;
  path: string;
}

const NAME = /^log\.(\d{15})$/;

export function segmentPath(folder: string, start: number): string {
  return join(folder, `log.${String(start).padStart(15, '0')}`);
}

/** What is kept of a log, in order. */
export function segmentsIn(folder: string): Segment[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names
    .flatMap((name): Segment[] => {
      const [, start] = NAME.exec(name) ?? [];
      return start === undefined ? [] : [{ start: Number(start), path: join(folder, name) }];
    })
    .sort((one, other) => one.start - other.start);
}

/** Up to `bytes` of a segment; undefined: it is there no more. */
export function readSegment({ path }: Segment, offset: number, bytes: number): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const buffer = Buffer.allocUnsafe(bytes);
    let read = 0;
    while (read < bytes) {
      const more = readSync(fd, buffer, read, bytes - read, offset + read);
      if (more === 0) break;
      read += more;
    }
    return buffer.subarray(0, read);
  } finally {
    closeSync(fd);
  }
}
