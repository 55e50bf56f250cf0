/** Which of its two streams a command wrote to. */
export type OutputStream = 'stdout' | 'stderr';

// The log of a job is a sequence of frames: what was read of one stream at one moment. A frame ends with a whole line, unless it
// says otherwise, so that each can be read without those before it.

export interface Frame {
  stream: OutputStream;
  /** When it was read, in milliseconds since the Unix epoch. */
  at: number;
  /** Its first line began in a frame before it. */
  continues: boolean;
  /** It is the rest of a line that is too long to be shown: all of it, or up to where its frame ends. */
  overlong: boolean;
  data: Buffer;
}

/** Flags and stream, time, length. */
const FRAME_HEADER_BYTES = 11;
const STDERR = 1;
const CONTINUES = 2;
const OVERLONG = 4;

export function frameHeader({ stream, at, continues, overlong }: Omit<Frame, 'data'>, bytes: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  header[0] = (stream === 'stderr' ? STDERR : 0) | (continues ? CONTINUES : 0) | (overlong ? OVERLONG : 0);
  header.writeUIntBE(at, 1, 6);
  header.writeUInt32BE(bytes, 7);
  return header;
}

/** The frame that begins at `from`; undefined: it is not whole. */
export function frameAt(buffer: Buffer, from: number): { frame: Frame; end: number } | undefined {
  const begin = from + FRAME_HEADER_BYTES;
  if (begin > buffer.length) return undefined;
  const flags = buffer[from] ?? 0;
  const end = begin + buffer.readUInt32BE(from + 7);
  if (end > buffer.length) return undefined;
  return {
    frame: {
      stream: (flags & STDERR) === 0 ? 'stdout' : 'stderr',
      at: buffer.readUIntBE(from + 1, 6),
      continues: (flags & CONTINUES) !== 0,
      overlong: (flags & OVERLONG) !== 0,
      data: buffer.subarray(begin, end),
    },
    end,
  };
}
