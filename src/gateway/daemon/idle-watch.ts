import type { Clock, Timer } from '../../core/index.ts';

/** How often it is looked whether something is open, in parts of the time that has to pass. */
const LOOKS = 10;

interface IdleOptions {
  clock: Clock;
  idleMs: number;
  /** Whether anything is open. */
  busy(): Promise<boolean>;
  /** It has been quiet for so long. */
  end(): void;
  failed(error: unknown): void;
}

/** Finds out when nobody was connected and nothing open for a while. While somebody is, it does nothing at all. */
export class IdleWatch {
  readonly #options: IdleOptions;
  #timer: Timer | undefined;
  /** Of the watching under way; a look that comes back after it was given up counts for nothing. */
  #turn = 0;

  constructor(options: IdleOptions) {
    this.#options = options;
  }

  /** Nobody is connected. */
  begin(): void {
    this.stop();
    this.#look(this.#turn, undefined).catch(this.#options.failed);
  }

  /** Somebody is, or it ends anyway. */
  stop(): void {
    this.#turn += 1;
    this.#timer?.cancel();
  }

  async #look(turn: number, quietSince: number | undefined): Promise<void> {
    const { clock, idleMs, busy, end, failed } = this.#options;
    const isBusy = await busy().catch((error: unknown) => {
      failed(error);
      return true; // What cannot be asked may well be at work.
    });
    if (turn !== this.#turn) return;
    const now = clock.monotonic();
    const since = isBusy ? undefined : (quietSince ?? now);
    const leftMs = since === undefined ? idleMs : since + idleMs - now;
    if (leftMs <= 0) return end();
    const nextMs = Math.min(leftMs, Math.ceil(idleMs / LOOKS));
    this.#timer = clock.setTimer(nextMs, () => this.#look(turn, since).catch(failed));
  }
}
