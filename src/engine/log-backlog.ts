import type { LogEntry } from '../store/index.ts';

/** A handler that logs faster than the store writes loses the oldest unwritten lines, and the log says so. */
const MAX_LINES = 10_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** What is written by one command: some milliseconds at most, in which nothing else runs. */
const MAX_BATCH_LINES = 1_000;
const MAX_BATCH_CHARACTERS = 512 * 1024;

/** Log lines on their way to the store. However much a handler logs, this much waits at most. */
export class LogBacklog {
  #lines: LogEntry[] = [];
  /** Where the lines begin that are still wanted: moving them all for each one that is dropped would cost too much. */
  #first = 0;
  #characters = 0;
  #dropped = 0;

  get isEmpty(): boolean {
    return this.#lines.length === this.#first;
  }

  push(entry: LogEntry): void {
    this.#lines.push(entry);
    this.#characters += entry.text.length;
    while (this.#lines.length - this.#first > MAX_LINES || this.#characters > MAX_CHARACTERS) this.#dropOldest();
  }

  /** Takes everything, in batches, each to be written by itself. */
  take(): LogEntry[][] {
    const lines = this.#lines.slice(this.#first);
    if (this.#dropped > 0) {
      const text = `… ${this.#dropped} lines were logged faster than they could be written, and dropped`;
      lines.unshift({ level: 'warning', text, at: lines[0]?.at ?? 0 });
    }
    this.#lines = [];
    this.#first = 0;
    this.#characters = 0;
    this.#dropped = 0;
    return batches(lines);
  }

  #dropOldest(): void {
    this.#characters -= this.#lines[this.#first]?.text.length ?? 0;
    this.#first += 1;
    this.#dropped += 1;
    if (this.#first < MAX_LINES) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

function batches(lines: readonly LogEntry[]): LogEntry[][] {
  const found: LogEntry[][] = [];
  let batch: LogEntry[] = [];
  let characters = 0;
  for (const line of lines) {
    if (
      batch.length === MAX_BATCH_LINES ||
      (batch.length > 0 && characters + line.text.length > MAX_BATCH_CHARACTERS)
    ) {
      found.push(batch);
      batch = [];
      characters = 0;
    }
    batch.push(line);
    characters += line.text.length;
  }
  if (batch.length > 0) found.push(batch);
  return found;
}
