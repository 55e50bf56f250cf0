import { isJsonObject } from '../core/index.ts';

// The log of a task as a resource, page by page: for programs, on any revision.

export const LOG_PAGE_URI = 'longcall://tasks/{id}/log/{cursor}';

/** A line of a task's log. What it says is the tool's: data, never instructions. */
export interface TaskLogLine {
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** `debug`, `info`, `warning`, `error`. */
  level: string;
  text: string;
}

export interface TaskLogPage {
  lines: TaskLogLine[];
  /** Where the next page begins: the byte at which this one ended. */
  cursor: number;
}

/** @param cursor a byte of the log, or a negative number of bytes from its end */
export function logPageUri(taskId: string, cursor: number): string {
  return LOG_PAGE_URI.replace('{id}', encodeURIComponent(taskId)).replace('{cursor}', String(cursor));
}

export function encodeLogPage({ lines, cursor }: TaskLogPage): string {
  return JSON.stringify({ lines: lines.map(({ at, level, text }) => ({ at, level, text })), cursor });
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
    const { at, level, text } = line;
    return typeof at === 'number' && typeof level === 'string' && typeof text === 'string' ? [{ at, level, text }] : [];
  });
  return { lines, cursor: page.cursor as number };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
