import type { Clock } from '../core/index.ts';
import type { TaskLogLine, TaskLogPage } from '../wire/task-log.ts';
import { CallLogUnavailableError } from './errors.ts';
import type { CallSnapshot } from './snapshot.ts';

export interface CallLogOptions {
  /** Go on until the call is over, instead of ending where the log ends now. @default false */
  follow?: boolean;
  /** Begin so many bytes before the end of the log, instead of where it begins. */
  tailBytes?: number;
  signal?: AbortSignal;
}

/** What the log of a call is read by. */
export interface LogSource {
  clock: Clock;
  /** Where the call stands. */
  look(): Promise<CallSnapshot>;
  /** @throws {CallLogUnavailableError} when there is nothing to read, or nobody to ask. */
  read(cursor: number, signal: AbortSignal | undefined): Promise<TaskLogPage>;
  /** Resolves at the next change of the call, or after `ms`. */
  news(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** A log that is followed is asked for this often while there is nothing new in it: grows from the first to the last. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 10_000;

/** The lines of a log, in the order in which they were written. */
export async function* readCallLog(
  source: LogSource,
  { follow = false, tailBytes, signal }: CallLogOptions,
): AsyncGenerator<TaskLogLine, void, undefined> {
  let cursor = tailBytes === undefined ? 0 : -tailBytes;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    signal?.throwIfAborted();
    const over = !follow || (await source.look()).end !== undefined; // Before the last page, or lines are missed.
    const page = await source.read(cursor, signal);
    yield* page.lines;
    const more = page.cursor !== cursor && page.lines.length > 0;
    cursor = page.cursor;
    if (more) {
      pauseMs = FIRST_PAUSE_MS;
      continue;
    }
    if (over) return;
    await source.news(pauseMs, signal);
    pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS);
  }
}

/** Where a call stands, and what its task has logged since the update before. */
export type CallUpdate = CallSnapshot & { log?: TaskLogLine[] };

/** Where the call stands after every change, with what was logged meanwhile; without, where there is no log to read. */
export async function* updatesWithLog(
  source: LogSource,
  signal: AbortSignal,
): AsyncGenerator<CallUpdate, void, undefined> {
  let cursor: number | undefined = 0;
  let told: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    signal.throwIfAborted();
    const state = await source.look(); // Before its log: what it logged last is told with its end.
    const log: TaskLogLine[] = [];
    if (cursor !== undefined && state.phase !== 'intended' && state.phase !== 'sent') {
      cursor = await readOn(source, cursor, log, signal);
    }
    const text = JSON.stringify(state);
    if (text !== told || log.length > 0) yield { ...state, ...(log.length > 0 && { log }) };
    if (state.end !== undefined) return;
    pauseMs = text !== told || log.length > 0 ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, LAST_PAUSE_MS);
    told = text;
    await source.news(cursor === undefined ? LAST_PAUSE_MS : pauseMs, signal);
  }
}

/** Reads to the end of the log; where to go on, or undefined where there is no log. */
async function readOn(
  source: LogSource,
  from: number,
  into: TaskLogLine[],
  signal: AbortSignal,
): Promise<number | undefined> {
  let cursor = from;
  try {
    for (;;) {
      const page = await source.read(cursor, signal);
      into.push(...page.lines);
      if (page.lines.length === 0 || page.cursor === cursor) return page.cursor;
      cursor = page.cursor;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return error instanceof CallLogUnavailableError ? undefined : cursor; // Asked again at the next update.
  }
}
