// What the demo shows. Conductor and client write to one terminal: a line of one of them replaces a half-drawn bar of
// the other, which draws it again with the next figures.
const BAR_WIDTH = 28;
const LABEL_WIDTH = 40;
/** The rate is that of the last seconds, so that it is right again soon after an interruption. */
const WINDOW_MS = 2_500;

const { stdout } = process;
const lineStart = stdout.isTTY ? '\r\u001b[2K' : '';

export function heading(text: string): void {
  stdout.write(`${lineStart}\n${stdout.isTTY ? `\u001b[1m${text}\u001b[0m` : text}\n`);
}

export function say(who: string, text: string): void {
  stdout.write(`${lineStart}  ${who.padEnd(9)} ${text}\n`);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Redrawn in place on a terminal; elsewhere a line whenever something changed. */
export class ProgressBar {
  #seen: { at: number; done: number }[] = [];
  #total = 0;

  update(done: number, total: number, label: string): void {
    const changed = done !== this.#seen.at(-1)?.done;
    const now = performance.now();
    this.#seen = [...this.#seen.filter(({ at }) => now - at < WINDOW_MS), { at: now, done }];
    this.#total = total;
    if (!changed && !stdout.isTTY) return;
    const filled = Math.round((done / total) * BAR_WIDTH);
    const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${String(done).padStart(3)}/${total}`;
    const rate = this.#rate();
    const left = seconds(((total - done) / rate) * 1_000);
    const figures = rate > 0 && done < total ? `${rate.toFixed(0)} steps/s, ${left} left` : '';
    const end = stdout.isTTY ? '' : '\n';
    stdout.write(`${lineStart}  ${`${bar}  ${figures.padEnd(25)} ${label.slice(-LABEL_WIDTH)}`.trimEnd()}${end}`);
  }

  /** The pace so far says nothing any more. */
  forget(): void {
    this.#seen = [];
  }

  /** Leaves the bar standing, full if the task has finished: nobody polled at that very moment. */
  end(finished: boolean): void {
    if (finished && this.#total > 0) this.update(this.#total, this.#total, '');
    if (stdout.isTTY) stdout.write('\n');
  }

  #rate(): number {
    const [first] = this.#seen;
    const last = this.#seen.at(-1);
    if (first === undefined || last === undefined || last.at === first.at) return 0;
    return ((last.done - first.done) / (last.at - first.at)) * 1_000;
  }
}
