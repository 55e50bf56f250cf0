import { Watchers } from '../engine/watchers.ts';
import { ClientClosedError } from './errors.ts';
import { KeepAlive } from './keep-alive.ts';

const INBOX = 'inbox';

/** Who waits for news: of one call, or of the inbox. */
export class Changes {
  readonly #watchers = new Watchers();
  readonly #keepAlive = new KeepAlive();
  #closed = false;

  /** Something about one call changed. */
  ofCall(callId: string): void {
    this.#watchers.notify(new Set([callId]));
  }

  /** It may have ended. */
  ofEnd(callId: string): void {
    this.#watchers.notify(new Set([callId, INBOX]));
  }

  /** Anything may have changed. */
  ofAll(): void {
    this.#watchers.notify(undefined);
  }

  close(): void {
    this.#closed = true;
    this.ofAll();
  }

  /**
   * Looks, and looks again after every change, until `look` yields something. Whoever waits here keeps the process alive.
   * @throws {ClientClosedError} once the client is closed, the signal's reason once that is aborted.
   */
  async until<Found>(
    subject: { callId: string } | 'inbox',
    look: () => Promise<Found | undefined> | Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    return this.#keepAlive.during(this.#until(subject === 'inbox' ? INBOX : subject.callId, look, signal));
  }

  async #until<Found>(
    key: string,
    look: () => Promise<Found | undefined> | Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    let changed = false;
    let wake = (): void => {};
    const news = (): void => {
      changed = true;
      wake();
    };
    const unwatch = this.#watchers.watch(key, news);
    signal?.addEventListener('abort', news);
    try {
      for (;;) {
        if (this.#closed) throw new ClientClosedError();
        signal?.throwIfAborted();
        changed = false;
        const found = await look();
        if (found !== undefined) return found;
        if (!changed) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      unwatch();
      signal?.removeEventListener('abort', news);
    }
  }
}
