import type { Watchers } from '../../engine/watchers.ts';

/** Which of several calls have changed, gathered from the moment it is made until somebody asks. */
export class Gathering {
  readonly #changed = new Set<string>();
  readonly #unwatch: (() => void)[];
  #wake: () => void = () => {};

  constructor(watchers: Watchers, callIds: Iterable<string>) {
    this.#unwatch = [...new Set(callIds)].map((callId) => {
      this.#changed.add(callId); // Nobody has looked yet.
      return watchers.watch(callId, () => {
        this.#changed.add(callId);
        this.#wake();
      });
    });
  }

  /** What has changed since it was asked last; waits while that is nothing. Ends with the signal, which it does not throw. */
  async next(signal: AbortSignal | undefined): Promise<string[]> {
    const wake = (): void => this.#wake();
    signal?.addEventListener('abort', wake, { once: true });
    try {
      while (this.#changed.size === 0 && signal?.aborted !== true) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener('abort', wake);
    }
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  stop(): void {
    for (const unwatch of this.#unwatch) unwatch();
  }
}
