import type { LogEntry, LogLine, LogPage } from '../store/index.ts';

/** A line as far as it is looked at here: a store's, or one that came over the wire. */
type Line = Pick<LogLine, 'text' | 'stream' | 'dropped'>;

export type LogStream = NonNullable<LogEntry['stream']>;

export interface TailOptions {
  /** So many lines at most. */
  count: number;
  /** Of these characters together at most, but one line. @default no limit */
  maxChars?: number;
  /** How far is gone back at first, in bytes. */
  pageBytes: number;
}

/** Whether a line is wanted by whoever wants one stream; that lines are missing is told to everybody. */
export function isOn({ stream, dropped }: Line, wanted: LogStream | undefined): boolean {
  return wanted === undefined || stream === wanted || dropped !== undefined;
}

/**
 * The last lines of a log, found by looking further and further back; `whole`: nothing came before them.
 * @param read a page from a byte on, below 0 counted from the end; `atEnd` says that there is no other
 */
export async function lastLines<Found extends Pick<Line, 'text'>>(
  read: (cursor: number) => Promise<Omit<LogPage, 'lines'> & { lines: readonly Found[] }>,
  isWanted: (line: Found) => boolean,
  { count, maxChars = Number.POSITIVE_INFINITY, pageBytes }: TailOptions,
): Promise<{ lines: Found[]; cursor: number; whole: boolean }> {
  for (let back = pageBytes; ; back *= 4) {
    const last = new Last<Found>(count, maxChars);
    let cursor = -back;
    let atEnd = false;
    while (!atEnd) {
      const page = await read(cursor);
      for (const line of page.lines) if (isWanted(line)) last.add(line);
      ({ cursor, atEnd } = page);
    }
    const { lines, left } = last;
    if (lines.length >= count || left > 0 || back >= cursor) {
      return { lines, cursor, whole: left === 0 && back >= cursor };
    }
  }
}

/** The last of what is added, as much as there is room for. */
export class Last<Found extends Pick<Line, 'text'>> {
  readonly #count: number;
  readonly #maxChars: number;
  #kept: (Found | undefined)[] = [];
  #first = 0;
  #chars = 0;
  /** So many did not fit. */
  left = 0;

  constructor(count: number, maxChars: number) {
    this.#count = count;
    this.#maxChars = maxChars;
  }

  get lines(): Found[] {
    return this.#kept.slice(this.#first) as Found[];
  }

  add(line: Found): void {
    this.#kept.push(line);
    this.#chars += line.text.length;
    while (this.#size > this.#count || (this.#chars > this.#maxChars && this.#size > 1)) this.#drop();
  }

  get #size(): number {
    return this.#kept.length - this.#first;
  }

  #drop(): void {
    this.#chars -= this.#kept[this.#first]?.text.length ?? 0;
    this.#kept[this.#first] = undefined;
    this.#first += 1;
    this.left += 1;
    if (this.#first < this.#count) return;
    this.#kept = this.#kept.slice(this.#first); // Moving all for each that is dropped would cost too much.
    this.#first = 0;
  }
}
