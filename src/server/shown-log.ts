import { indented, type Principal, plainText, type TaskId } from '../core/index.ts';
import type { Engine } from '../engine/engine.ts';
import { isOn, Last, type LogStream, lastLines } from '../engine/log-tail.ts';
import type { LogLine } from '../store/index.ts';

// Logs as they are shown to people and models: the end of them, as plain text.

/** As much of a log as one read carries: its end, for people who ask what is going on. */
export const LOG_TAIL_BYTES = 64 * 1024;
/** Lines of one stream, where nobody says how many. */
const LINES = 500;
export const MAX_LINES = 10_000;
/** Of a log that is looked through, what is read at a time: some milliseconds, in which nothing else runs. */
const SEARCH_BYTES = 256 * 1024;
/** So much of a log is looked through for lines of one stream before that is answered. */
const MAX_PAGES = 64;

export interface ShownLog {
  text: string;
  /** Where reading is taken up again. */
  cursor: number;
}

export interface LogView {
  /** Only what a process wrote there. */
  stream?: LogStream | undefined;
  /** The last so many lines. */
  lines?: number | undefined;
}

/** A task's log, for its owner: see `readLog`. */
export class LogReading {
  readonly #engine: Pick<Engine, 'readLog'>;
  readonly #taskId: TaskId;
  readonly #principal: Principal;

  constructor(engine: Pick<Engine, 'readLog'>, taskId: TaskId, principal: Principal) {
    this.#engine = engine;
    this.#taskId = taskId;
    this.#principal = principal;
  }

  /** A page as it is. */
  page(cursor: number, limitBytes: number = LOG_TAIL_BYTES): ReturnType<Engine['readLog']> {
    return this.#engine.readLog(this.#taskId, this.#principal, { cursor, limitBytes });
  }

  /** The end, each line with its time and where it came from. */
  async end({ stream, lines: count }: LogView): Promise<ShownLog> {
    if (stream === undefined && count === undefined) {
      const { lines, cursor } = await this.page(-LOG_TAIL_BYTES);
      return { text: tail(lines, cursor, cursor <= LOG_TAIL_BYTES), cursor };
    }
    const { lines, cursor, whole } = await lastLines(
      (from) => this.page(from, SEARCH_BYTES),
      (line) => isOn(line, stream),
      { count: count ?? LINES, maxChars: LOG_TAIL_BYTES, pageBytes: LOG_TAIL_BYTES },
    );
    return { text: tail(lines, cursor, whole), cursor };
  }

  /** What came from a byte on, as it was said: the next page of it, or with `lines` the end of it. */
  async since(from: number, { stream, lines: count }: LogView): Promise<ShownLog> {
    const last = new Last<LogLine>(count ?? Number.POSITIVE_INFINITY, LOG_TAIL_BYTES);
    let cursor = from;
    for (let pages = 1; ; pages += 1) {
      const page = await this.page(cursor);
      cursor = page.cursor;
      const found = page.lines.filter((line) => isOn(line, stream));
      for (const line of found) last.add(line);
      if (page.atEnd || (found.length > 0 && count === undefined)) break;
      if (pages === MAX_PAGES && count === undefined)
        return { text: `… nothing on ${stream} so far; the log goes on\n`, cursor };
    }
    const marker = last.left === 0 ? '' : `… ${last.left} lines before these are left out\n`;
    return { text: marker + last.lines.map(({ text }) => `${plainText(text)}\n`).join(''), cursor };
  }
}

/** @param end where the log ended when its lines were read */
function tail(lines: readonly LogLine[], end: number, whole: boolean): string {
  const written = lines.map((line) => `${new Date(line.at).toISOString()} ${originOf(line)} ${shown(line)}\n`);
  let bytes = written.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  let first = 0;
  while (bytes > LOG_TAIL_BYTES && first < written.length - 1) {
    bytes -= Buffer.byteLength(written[first] ?? '');
    first += 1;
  }
  const marker = whole && first === 0 ? '' : `… of ${end} bytes logged, only the last are shown here\n`;
  return marker + written.slice(first).join('');
}

function originOf({ level, stream }: LogLine): string {
  if (stream === undefined) return level;
  return level === 'info' ? stream : `${stream} ${level}`;
}

function shown({ text }: LogLine): string {
  return indented(plainText(text));
}
