import type { Clock } from '../core/index.ts';
import { isOn, lastLines } from '../engine/log-tail.ts';
import type { TaskLogLine, TaskLogPage } from '../wire/task-log.ts';
import type { Listening } from './changes.ts';
import { CallLogUnavailableError } from './errors.ts';
import type { CallSnapshot } from './snapshot.ts';

export interface CallLogOptions {
  /** Go on until the call is over, instead of ending where the log ends now. @default false */
  follow?: boolean;
  /** Begin so many bytes before the end of the log, instead of where it begins. */
  tailBytes?: number;
  /** Begin with the last so many lines, of those that are wanted. */
  tail?: number;
  /** Only what a process wrote there. @default everything */
  stream?: 'stdout' | 'stderr';
  /** Only lines written since, in milliseconds since the Unix epoch. @default all */
  since?: number;
  signal?: AbortSignal;
}

/** What the log of a call is read by. */
export interface LogSource {
  clock: Clock;
  /** Where the call stands. */
  look(): Promise<CallSnapshot>;
  /** @throws {CallLogUnavailableError} when there is nothing to read, or nobody to ask. */
  read(cursor: number, signal: AbortSignal | undefined): Promise<TaskLogPage>;
  /** Hears of changes of the call. */
  listen(): Listening;
  /** Calls back when the task has logged something, until the function that comes of it is called; none where nobody tells that. */
  watch(onNews: () => void, onTold: (told: boolean) => void): Promise<(() => void) | undefined>;
}

/**
 * A log that is followed is asked for this often while there is nothing new in it: grows from the first to the last, which is the net
 * where the server tells of news.
 */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 10_000;
/** How far is gone back at first for the last lines. */
const TAIL_BYTES = 64 * 1024;

/** How far a log was read. */
class LogPlace {
  readonly #source: LogSource;
  #cursor: number;

  constructor(source: LogSource, cursor: number) {
    this.#source = source;
    this.#cursor = cursor;
  }

  /** The last lines; what comes later is new. */
  async last(
    count: number,
    isWanted: (line: TaskLogLine) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<TaskLogLine[]> {
    const page = async (from: number) => {
      const { lines, cursor, atEnd = lines.length === 0 } = await this.#source.read(from, signal);
      return { lines, cursor, atEnd };
    };
    const { lines, cursor } = await lastLines(page, isWanted, { count, pageBytes: TAIL_BYTES });
    this.#cursor = cursor;
    return lines;
  }

  /** What is new, page by page, to where the log ends now. What was not read is new the next time. */
  async *read(signal: AbortSignal | undefined): AsyncGenerator<TaskLogLine[], void, undefined> {
    for (;;) {
      const { lines, cursor, atEnd = false } = await this.#source.read(this.#cursor, signal);
      const moved = cursor !== this.#cursor;
      this.#cursor = cursor;
      if (lines.length > 0) yield lines;
      if (atEnd || lines.length === 0 || !moved) return;
    }
  }
}

/** Until when a log is not looked at again. */
class LogPause {
  readonly #source: LogSource;
  /** From the first look on: what changes while one reads ends the next wait at once. */
  readonly #listening: Listening;
  #pauseMs: number | undefined;
  #isTold = false;
  #isRung = false;
  #wake = (): void => {};
  #unwatch: (() => void) | undefined;

  constructor(source: LogSource) {
    this.#source = source;
    this.#listening = source.listen();
  }

  /** Where there is no log, only the call itself has news. */
  async waitForCall(signal: AbortSignal | undefined): Promise<void> {
    await this.#listening.news(LAST_PAUSE_MS, signal);
  }

  /** @param news whether there was any at the last look */
  async wait(news: boolean, signal: AbortSignal | undefined): Promise<void> {
    this.#unwatch ??= await this.#source.watch(
      () => this.#ring(),
      (told) => {
        this.#isTold = told;
        if (!told) this.#ring(); // Some of it may have gone unheard.
      },
    );
    this.#pauseMs = news || this.#pauseMs === undefined ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, LAST_PAUSE_MS);
    const rung = new AbortController();
    this.#wake = () => rung.abort();
    const until = signal === undefined ? rung.signal : AbortSignal.any([rung.signal, signal]);
    if (!this.#isRung) await this.#listening.news(this.#isTold ? LAST_PAUSE_MS : this.#pauseMs, until);
    this.#isRung = false;
  }

  end(): void {
    this.#unwatch?.();
    this.#listening.stop();
  }

  #ring(): void {
    this.#isRung = true;
    this.#wake();
  }
}

/** The lines of a log, in the order in which they were written. */
export async function* readCallLog(
  source: LogSource,
  { follow = false, tailBytes, tail, stream, since, signal }: CallLogOptions,
): AsyncGenerator<TaskLogLine, void, undefined> {
  if (tail !== undefined && !(Number.isSafeInteger(tail) && tail >= 1)) {
    throw new RangeError(`tail: expected a whole number from 1 on, got ${tail}`);
  }
  const isWanted = (line: TaskLogLine): boolean => isOn(line, stream) && (since === undefined || line.at >= since);
  const place = new LogPlace(source, tailBytes === undefined ? 0 : -tailBytes);
  signal?.throwIfAborted();
  const pause = new LogPause(source);
  try {
    let last = tail === undefined ? undefined : await place.last(tail, isWanted, signal);
    for (;;) {
      signal?.throwIfAborted();
      const over = !follow || (await source.look()).end !== undefined; // Before the last page, or lines are missed.
      let news = false;
      if (last !== undefined) yield* last;
      last = undefined;
      for await (const lines of place.read(signal)) {
        news = true;
        yield* lines.filter(isWanted);
      }
      if (over) return;
      await pause.wait(news, signal);
    }
  } finally {
    pause.end();
  }
}

/** Where a call stands, and what its task has logged since the update before. */
export type CallUpdate = CallSnapshot & { log?: TaskLogLine[] };

/** Where the call stands after every change, with what was logged meanwhile; without, where there is no log to read. */
export async function* updatesWithLog(
  source: LogSource,
  signal: AbortSignal,
): AsyncGenerator<{ state: CallSnapshot; log: TaskLogLine[] }, void, undefined> {
  let place: LogPlace | undefined = new LogPlace(source, 0);
  const pause = new LogPause(source);
  let told: string | undefined;
  try {
    for (;;) {
      signal.throwIfAborted();
      const state = await source.look(); // Before its log: what it logged last is told with its end.
      const log: TaskLogLine[] = [];
      const begun = state.phase !== 'intended' && state.phase !== 'sent';
      if (begun && (await readInto(log, place, signal)) === 'none') place = undefined;
      const text = JSON.stringify(state);
      const news = text !== told || log.length > 0;
      if (news) yield { state, log };
      if (state.end !== undefined) return;
      told = text;
      if (place === undefined) await pause.waitForCall(signal);
      else await pause.wait(news, signal);
    }
  } finally {
    pause.end();
  }
}

/** `none`: there is no log, and there will be none. What cannot be read now is read at the next update. */
async function readInto(
  log: TaskLogLine[],
  place: LogPlace | undefined,
  signal: AbortSignal,
): Promise<'read' | 'none'> {
  if (place === undefined) return 'none';
  try {
    for await (const lines of place.read(signal)) log.push(...lines);
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof CallLogUnavailableError) return 'none';
  }
  return 'read';
}
