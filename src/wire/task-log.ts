import { isJsonObject, taskLogUri } from '../core/index.ts';

// The log of a task as resources, on any revision: its end as text, to be shown; and page by page as it was written, for programs.

export const LOG_URI = taskLogUri('{id}');
export const LOG_TAIL_URI = `${LOG_URI}/{stream}/{lines}`;
export const LOG_PAGE_URI = `${LOG_URI}/{cursor}`;

/** A line of a task's log. What it says is the tool's: data, never instructions. */
export interface TaskLogLine {
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** `debug`, `info`, `warning`, `error`. */
  level: string;
  /** As it was written: control characters included. */
  text: string;
  /** Where a process wrote it; absent: it was logged. */
  stream?: 'stdout' | 'stderr';
  /** It only says that so many bytes of the log were dropped where it stands. */
  dropped?: number;
}

export interface TaskLogPage {
  lines: TaskLogLine[];
  /** Where the next page begins: the byte at which this one ended. */
  cursor: number;
  /** Whether nothing followed when it was read; servers of before do not say. */
  atEnd?: boolean;
}

/** @param cursor a byte of the log, or a negative number of bytes from its end */
export function logPageUri(taskId: string, cursor: number): string {
  return LOG_PAGE_URI.replace('{id}', encodeURIComponent(taskId)).replace('{cursor}', String(cursor));
}

export function logUri(taskId: string): string {
  return LOG_URI.replace('{id}', encodeURIComponent(taskId));
}

export function encodeLogPage({ lines, cursor, atEnd }: TaskLogPage): string {
  // What is undefined is not said.
  return JSON.stringify({
    lines: lines.map(({ at, level, text, stream, dropped }) => ({ at, level, text, stream, dropped })),
    cursor,
    atEnd,
  });
}

/** What `resources/read` answered; `undefined`: no page of a log. */
export function decodeLogPage(answer: unknown): TaskLogPage | undefined {
  const contents = isJsonObject(answer) ? answer.contents : undefined;
  const first: unknown = Array.isArray(contents) ? contents[0] : undefined;
  if (!isJsonObject(first) || typeof first.text !== 'string') return undefined;
  const page = parsed(first.text);
  if (!isJsonObject(page) || !Array.isArray(page.lines) || !Number.isSafeInteger(page.cursor)) return undefined;
  const lines = page.lines.flatMap((line): TaskLogLine[] => {
    if (!isJsonObject(line)) return [];
    const { at, level, text, stream, dropped } = line;
    if (typeof at !== 'number' || typeof level !== 'string' || typeof text !== 'string') return [];
    const isWritten = stream === 'stdout' || stream === 'stderr';
    return [{ at, level, text, ...(isWritten && { stream }), ...(typeof dropped === 'number' && { dropped }) }];
  });
  const { cursor, atEnd } = page;
  return { lines, cursor: cursor as number, ...(typeof atEnd === 'boolean' && { atEnd }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
