import { whole, words } from '../text.ts';

/**
 * What a command says on purpose: `::progress 3/10 words`, `::progress 3 words`, `::progress 30% words`, alone on a line, to
 * either stream; and the headings of GitHub's runners, `::group::words` and `::endgroup::`.
 */
export class Markers {
  progress: { progress: number; total?: number } | undefined;
  /** The words of the last `::progress`. */
  message: string | undefined;
  /** The heading that is open. */
  group: string | undefined;
  /** Rises where progress may fall: a new heading, another total, a count that had been complete. */
  phase = 0;
  #headed = false;

  /** @returns whether it is one, and says anything new */
  read(text: string): boolean {
    if (text.startsWith('::progress ')) return this.#progress(text);
    if (text.startsWith('::group::')) return this.#group(words(text.slice('::group::'.length)));
    if (text === '::endgroup::') return this.#group('');
    return false;
  }

  #progress(text: string): boolean {
    const [, done, of, percent, message = ''] =
      /^::progress +(\d{1,15})(?:\/(\d{1,15})|(%))?(?: +(.*))?$/.exec(text.trimEnd()) ?? [];
    const progress = whole(done);
    const total = percent === undefined ? whole(of) : 100;
    if (progress === undefined || (total !== undefined && total < progress)) return false;
    const before = this.progress;
    const { message: said } = this;
    this.message = words(message) || undefined;
    if (before === undefined || this.#restarts(before, progress, total)) {
      this.phase += 1;
      this.progress = { progress, ...(total !== undefined && { total }) };
    } else if (progress >= before.progress) {
      this.progress = { progress, ...(total !== undefined && { total }) };
    }
    this.#headed = false;
    const now = this.progress;
    return now?.progress !== before?.progress || now?.total !== before?.total || said !== this.message;
  }

  #restarts(before: { progress: number; total?: number }, progress: number, total: number | undefined): boolean {
    if (progress >= before.progress) return false;
    return this.#headed || total !== before.total || before.progress === before.total;
  }

  #group(title: string): boolean {
    const before = this.group;
    this.group = title === '' ? undefined : title;
    if (this.group !== undefined) this.#headed = true;
    return before !== this.group;
  }
}
