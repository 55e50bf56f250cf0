import type { Clock } from '../core/index.ts';
import { Watchers } from '../engine/watchers.ts';
import { ClientClosedError } from './errors.ts';
import { Gathering } from './groups/gathering.ts';
import { KeepAlive } from './keep-alive.ts';

const INBOX = 'inbox';
const ANY = 'any';

/** Who looks at something again and again, and must not miss what changes while he looks. */
export interface Listening {
  /**
   * Resolves at once where there was a change since it resolved last, else at the next, after `ms`, or when nobody waits any more.
   * Keeps the process alive meanwhile.
   * @throws {ClientClosedError} once the client is closed.
   */
  news(ms: number, signal?: AbortSignal): Promise<void>;
  stop(): void;
}

/** Who waits for news: of one call, of the inbox, or of any call. */
export class Changes {
  readonly #watchers = new Watchers();
  readonly #keepAlive = new KeepAlive();
  #closed = false;

  /** Something about one call changed. */
  ofCall(callId: string): void {
    this.#watchers.notify(new Set([callId, ANY]));
  }

  /** It may have ended. */
  ofEnd(callId: string): void {
    this.#watchers.notify(new Set([callId, INBOX, ANY]));
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
    subject: { callId: string } | 'inbox' | 'any',
    look: () => Promise<Found | undefined> | Found | undefined,
    signal?: AbortSignal,
  ): Promise<Found> {
    const key = typeof subject === 'object' ? subject.callId : { inbox: INBOX, any: ANY }[subject];
    return this.#keepAlive.during(this.#until(key, look, signal));
  }

  /** Resolves at the next change of a call, after `ms`, or when the client is closed. Keeps the process alive meanwhile. */
  async next(callId: string, ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
    const listening = this.listen(callId, clock);
    try {
      await listening.news(ms, signal);
    } finally {
      listening.stop();
    }
  }

  /** Hears of changes of a call from now on. */
  listen(callId: string, clock: Clock): Listening {
    let changed = false;
    let wake = (): void => {};
    const stop = this.#watchers.watch(callId, () => {
      changed = true;
      wake();
    });
    const news = async (ms: number, signal?: AbortSignal): Promise<void> => {
      const heard = new Promise<void>((resolve) => (wake = resolve));
      const timer = clock.setTimer(ms, wake);
      signal?.addEventListener('abort', wake);
      try {
        if (!this.#closed && !changed && signal?.aborted !== true) await this.#keepAlive.during(heard);
        if (this.#closed) throw new ClientClosedError();
      } finally {
        changed = false;
        timer.cancel();
        signal?.removeEventListener('abort', wake);
      }
    };
    return { news, stop };
  }

  /**
   * Which of these calls have changed, again and again; all of them at first. Ends with the signal. Whoever waits here keeps the
   * process alive.
   * @throws {ClientClosedError} once the client is closed.
   */
  async *ofCalls(callIds: Iterable<string>, signal?: AbortSignal): AsyncGenerator<string[], void, undefined> {
    const gathering = new Gathering(this.#watchers, callIds);
    try {
      for (;;) {
        const changed = await this.#keepAlive.during(gathering.next(signal));
        if (this.#closed) throw new ClientClosedError();
        if (signal?.aborted === true) return;
        yield changed;
      }
    } finally {
      gathering.stop();
    }
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
