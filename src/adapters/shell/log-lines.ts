import type { JobLogLine } from '../../core/index.ts';
import { type Frame, frameAt } from './frames.ts';
import { readSegment, type Segment, segmentsIn } from './log-segments.ts';

/** More than the longest frame. */
const READ_BYTES = 512 * 1024;
const LINE_FEED = 10;

interface FramePage {
  /** Each with where the next one begins. */
  frames: (Frame & { end: number })[];
  /** Where the next page begins. */
  cursor: number;
  /** So many bytes before the frames are not kept. */
  dropped: number;
}

/** What is kept of a log from `cursor` on, some frames at a time; none: that is all there is by now. */
export function readFrames(folder: string, cursor: number, bytes = READ_BYTES): FramePage {
  let dropped = 0;
  let at = cursor;
  const segments = segmentsIn(folder);
  for (;;) {
    const { frames, end } = framesOf(
      segments.findLast(({ start }) => start <= at),
      at,
      bytes,
    );
    if (frames.length > 0) return { frames, cursor: end, dropped };
    const next = segments.find(({ start }) => start > at);
    if (next === undefined) return { frames: [], cursor: at, dropped };
    dropped += next.start - at;
    at = next.start;
  }
}

function framesOf(
  segment: Segment | undefined,
  at: number,
  bytes: number,
): Pick<FramePage, 'frames'> & { end: number } {
  const buffer = segment === undefined ? undefined : readSegment(segment, at - segment.start, bytes);
  const frames: FramePage['frames'] = [];
  let end = 0;
  for (let found = buffer && frameAt(buffer, 0); found !== undefined; found = buffer && frameAt(buffer, end)) {
    end = found.end;
    frames.push({ ...found.frame, end: at + end });
  }
  return { frames, end: at + end };
}

export interface LinePage {
  lines: JobLogLine[];
  cursor: number;
}

/** The same as lines: `most` of them, and those of one more frame at most. */
export function readLines(folder: string, cursor: number, most: number): LinePage {
  const lines: JobLogLine[] = [];
  let at = cursor;
  while (lines.length < most) {
    const page = readFrames(folder, at);
    if (page.dropped > 0) {
      const text = `… ${page.dropped} bytes of the output were dropped here to keep it within its limit`;
      lines.push({ text, level: 'warning', at: page.frames[0]?.at ?? 0 });
    }
    at = page.cursor;
    if (page.frames.length === 0) break;
    for (const frame of page.frames) {
      addLines(lines, frame);
      at = frame.end;
      if (lines.length >= most) break;
    }
  }
  return { lines, cursor: at };
}

function addLines(lines: JobLogLine[], { stream, at, overlong, data }: Frame): void {
  if (overlong) {
    if (data.at(-1) === LINE_FEED)
      lines.push({ text: '… (the rest of this line is too long to be kept here)', stream, at });
    return;
  }
  const texts = data.toString('utf8').split('\n');
  if (texts.at(-1) === '') texts.pop();
  for (const text of texts) lines.push({ text: text.endsWith('\r') ? text.slice(0, -1) : text, stream, at });
}
