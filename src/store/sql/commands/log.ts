import { logText, MAX_LOG_LINE_BYTES, type TaskId } from '../../../core/index.ts';
import type { Applied, Lease, LogEntry, LogLine, LogPage } from '../../store.ts';
import { places } from '../places.ts';
import { all, type Command, one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { heldRow } from './end.ts';

// A log is a sequence of lines, each one JSON text and a line feed; a row holds some of them. The text is `[level, at, text]`, and
// has the stream as a fourth member where there is one: readers of before take the first three, and lines of before have no fourth,
// so that neither schema nor `min_reader` changes. A position in the log is a
// number of bytes from its beginning, and stays what it is when lines before it are dropped. JSON carries what no SQL
// text can (NUL, halves of surrogate pairs), and a row per batch keeps short lines from costing more than they say.

/** The most a row holds, unless it is a single line. */
const MAX_ROW_BYTES = 64 * 1024;
const MIN_ROW_BYTES = 1_024;
/** Rows fetched at a time by a reader, who takes few of them if they are full. */
const ROWS_PER_FETCH = 16;

type Line = { bytes: number; entry: LogEntry };

/**
 * Appends, and drops lines from the middle once the log has `maxBytes`: the first half stays for ever, the second half is
 * what was logged last. About as much is dropped as is appended, so no call has much to do.
 */
export function* appendLog(
  q: Statements,
  lease: Lease,
  entries: readonly LogEntry[],
  maxBytes: number,
): Command<Applied> {
  const row = yield* heldRow(q, lease);
  if (row === undefined) return 'lost';
  const id = lease.taskId;
  const maxLineBytes = Math.min(MAX_LOG_LINE_BYTES, Math.floor(maxBytes / 8));
  const maxRowBytes = Math.max(MIN_ROW_BYTES, Math.min(MAX_ROW_BYTES, Math.floor(maxBytes / 32)));
  let start = row.log_bytes;
  for (const body of inRows(entries, maxLineBytes, maxRowBytes)) {
    yield* run(q.insertLog, { id, start, body: q.vault.seal(places.log(id, start), body) });
    start += Buffer.byteLength(body);
  }
  yield* run(q.setLogBytes, { id, bytes: start });
  const headBytes = Math.floor(maxBytes / 2);
  if (start > maxBytes) yield* run(q.dropLog, { id, from: headBytes, before: start - (maxBytes - headBytes) });
  return 'applied';
}

function* inRows(entries: readonly LogEntry[], maxLineBytes: number, maxRowBytes: number): Generator<string> {
  let body = '';
  for (const { level, text, at, stream } of entries) {
    const kept = logText(text, maxLineBytes);
    const line = `${JSON.stringify(stream === undefined ? [level, at, kept] : [level, at, kept, stream])}\n`;
    if (body !== '' && body.length + line.length > maxRowBytes) {
      yield body;
      body = '';
    }
    body += line;
  }
  if (body !== '') yield body;
}

/** Whole lines from `cursor` on (counted from the end if negative), one at least if there is one. */
export function* readLog(
  q: Statements,
  taskId: TaskId,
  cursor: number,
  limitBytes: number,
): Command<LogPage | undefined> {
  const total = (yield* one(q.readLogBytes, { id: taskId }))?.log_bytes;
  if (total === undefined) return undefined;
  const page = new PageBuilder(Math.min(cursor < 0 ? Math.max(0, total + cursor) : cursor, total), limitBytes);
  for (;;) {
    const rows = yield* all(q.readLog, { id: taskId, cursor: page.cursor, limit: ROWS_PER_FETCH });
    for (const { start, body } of rows) {
      if (!page.add(start, q.vault.open(places.log(taskId, start), body))) return page.done(total);
    }
    if (rows.length < ROWS_PER_FETCH) break;
  }
  page.skipTo(total, undefined); // Even the last lines may be gone, in a log whose limit is small.
  return page.done(total);
}

class PageBuilder {
  readonly #lines: LogLine[] = [];
  readonly #limitBytes: number;
  #cursor: number;
  #bytes = 0;

  constructor(cursor: number, limitBytes: number) {
    this.#cursor = cursor;
    this.#limitBytes = limitBytes;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Takes the lines of a row that are not before the cursor; false once the page is full. */
  add(start: number, body: string): boolean {
    let position = start;
    for (const { bytes, entry } of linesOf(body)) {
      const end = position + bytes;
      if (position >= this.#cursor) {
        if (this.#bytes > 0 && this.#bytes + bytes > this.#limitBytes) return false;
        this.skipTo(position, entry.at);
        this.#lines.push(entry);
        this.#bytes += bytes;
      }
      position = end;
      // Also from within a line, where a cursor can be that was counted from the end: it begins with the next one.
      this.#cursor = Math.max(this.#cursor, position);
    }
    return true;
  }

  /** Goes on at `position`; what lies before it and was not read has been dropped. */
  skipTo(position: number, at: number | undefined): void {
    const dropped = position - this.#cursor;
    if (dropped <= 0) return;
    const text = `… ${dropped} bytes of the log were dropped here to keep it within its limit`;
    this.#lines.push({ level: 'warning', text, at: at ?? this.#lines.at(-1)?.at ?? 0, dropped });
    this.#cursor = position;
  }

  done(total: number): LogPage {
    return { lines: this.#lines, cursor: this.#cursor, atEnd: this.#cursor >= total };
  }
}

function* linesOf(body: string): Generator<Line> {
  for (let from = 0; from < body.length; ) {
    const end = body.indexOf('\n', from) + 1;
    const json = body.slice(from, end);
    const [level, at, text, stream] = JSON.parse(json) as [LogEntry['level'], number, string, LogEntry['stream']?];
    yield { bytes: Buffer.byteLength(json), entry: { level, text, at, ...(stream !== undefined && { stream }) } };
    from = end;
  }
}
