import { type Clock, type Logger, StoreClosedError, type Timer } from '../core/index.ts';
import type { Changes } from './changes.ts';
import type { Following } from './following.ts';
import type { Journal } from './journal/journal.ts';
import { BEAT_MS, type OtherProcesses } from './other-processes.ts';

/** How often a client looks what others did on its journal. */
const ROUND_MS = 1_000;
const FORGET_MS = 60_000;

export interface UpkeepParts {
  journal: Journal;
  others: OtherProcesses;
  changes: Changes;
  following: Following;
  clock: Clock;
  logger: Logger;
  keepAcknowledgedMs: number;
  /** Takes calls that nobody follows, of the servers that are connected here. */
  takeOver: () => Promise<void>;
  /** Takes in what tasks have left that made calls. */
  takeInLeftOvers: () => Promise<void>;
}

/** What a client does now and then: says that it lives, looks after what others left, forgets what was taken in long ago. */
export class ClientUpkeep {
  readonly #parts: UpkeepParts;
  #timer: Timer | undefined;
  #stopped = false;
  #beatAt: number;
  #forgetAt: number;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#beatAt = parts.clock.monotonic() + BEAT_MS;
    this.#forgetAt = parts.clock.monotonic();
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.clock.setTimer(ROUND_MS, () => {
      this.#round().then(
        () => this.#schedule(),
        (error: unknown) => {
          if (this.#stopped || error instanceof StoreClosedError) return;
          this.#parts.logger.error({ error }, 'the journal of calls could not be looked after; trying again');
          this.#schedule();
        },
      );
    });
  }

  async #round(): Promise<void> {
    const { clock, journal, others, changes, following, keepAcknowledgedMs, takeOver } = this.#parts;
    const now = clock.monotonic();
    let free = (await others.look()) > 0;
    if (now >= this.#beatAt) {
      this.#beatAt = now + BEAT_MS;
      if ((await journal.beat()) === 'buried') {
        // This process stood still for longer than a lease: what it held is anybody's, also its own again.
        await following.stop();
        free = true;
      }
    }
    if (journal.changedByOthers()) {
      free = true; // They may have let go of something.
      for (const callId of await journal.cancelRequests()) following.get(callId)?.requestCancel();
      changes.ofAll();
    }
    if (free) await takeOver();
    if (now >= this.#forgetAt) {
      this.#forgetAt = now + FORGET_MS;
      await this.#parts.takeInLeftOvers();
      while (!this.#stopped && (await journal.forget(clock.now() - keepAcknowledgedMs)) > 0) {
        /* some at a time */
      }
    }
  }
}
