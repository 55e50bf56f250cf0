// What handlers say of themselves, each line written the moment it is true: the evidence that the checks hold against
// what the server says. A file per task, so that processes which run the same task one after another share it.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type What =
  /** A handler began. */
  | 'started'
  /** A step's own function began, and was about to return `value`. */
  | 'began'
  | 'made'
  /** The handler has a step's value: from now on that step must not run again. */
  | 'has'
  /** The handler has an answer. */
  | 'heard'
  /** A child process of a step did its work; it has no clock, so `at` is missing. */
  | 'effect'
  /** The signal fired; `value` says why. */
  | 'told'
  | 'returned'
  | 'threw';

export interface Entry {
  what: What;
  /** Milliseconds on the machine's monotonic clock, comparable between processes. */
  at: number;
  /** Which life of which process. */
  life: string;
  /** Which run of the handler; unique. */
  run: string;
  attempt: number;
  key?: string;
  value?: string;
}

/** Now, on a clock that all processes of this machine share. */
export function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

let runs = 0;

/** The pen of one run. Appending one short line is one write: a kill comes before or after it. */
export class RunNotes {
  readonly path: string;
  readonly #entry: Pick<Entry, 'life' | 'run' | 'attempt'>;

  constructor(folder: string, life: string, taskId: string, attempt: number) {
    runs += 1;
    this.path = join(folder, taskId);
    this.#entry = { life, run: `${life}/${runs}`, attempt };
  }

  write(what: What, details: { key?: string; value?: string } = {}): void {
    appendFileSync(this.path, this.line(what, details));
  }

  /** The line as it would be written; without a time if another program is to write it. */
  line(what: What, details: { key?: string; value?: string } = {}): string {
    return `${JSON.stringify({ what, at: machineTime(), ...this.#entry, ...details })}\n`;
  }
}

/** All that was written about a task, in the order of writing. A line that is being written does not count yet. */
export function readNotes(folder: string, taskId: string): Entry[] {
  const path = join(folder, taskId);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry);
}
