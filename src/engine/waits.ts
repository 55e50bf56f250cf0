import type { Answer, Clock, Timer } from '../core/index.ts';

/** Something a handler waits for that may take days. */
type Wait = { reject: (reason: unknown) => void } & (
  | { for: 'answer'; since: number; deadline: number | undefined; resolve: (answer: Answer) => void }
  | { for: 'time'; until: number; resolve: () => void }
);

export interface WaitsParts {
  clock: Clock;
  /** How long an unanswered question keeps the handler in memory. */
  holdMs: number;
  /** Whether the run may be put away and started again later. */
  mayPark: () => boolean;
  /** Called when nothing but waiting is left and it will take long. */
  park: (wakeAt: number | undefined) => void;
  /** Called when the handler begins to only wait, and when it works again. */
  idle: (idle: boolean) => void;
  /** A question's deadline has passed. */
  expire: (key: string) => void;
}

/**
 * What a handler waits for, and when that is worth putting it away: not while a step runs beside it, not for a question
 * that was asked just now, and not for a nap.
 */
export class Waits {
  readonly #parts: WaitsParts;
  readonly #waits = new Map<string, Wait>();
  #busy = 0;
  #timer: Timer | undefined;

  constructor(parts: WaitsParts) {
    this.#parts = parts;
  }

  /** Keys of questions that wait for their answer. */
  get questions(): string[] {
    return [...this.#waits].filter(([, wait]) => wait.for === 'answer').map(([key]) => key);
  }

  forAnswer(key: string, deadline: number | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waits.set(key, { for: 'answer', since: this.#parts.clock.monotonic(), deadline, resolve, reject });
      this.#changed();
    });
  }

  /** @param until milliseconds since the Unix epoch */
  forTime(key: string, until: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waits.set(key, { for: 'time', until, resolve, reject });
      this.#changed();
    });
  }

  /** What a wait for a time was really for is there. */
  woken(key: string): void {
    const wait = this.#waits.get(key);
    if (wait?.for !== 'time') return;
    this.#waits.delete(key);
    this.#changed();
    wait.resolve();
  }

  answered(key: string, answer: Answer): void {
    const wait = this.#waits.get(key);
    if (wait?.for !== 'answer') return;
    this.#waits.delete(key);
    this.#changed();
    wait.resolve(answer);
  }

  /** Work that parking would cut off: the handler stays while there is any. */
  busy(delta: 1 | -1): void {
    this.#busy += delta;
    this.#changed();
  }

  /** The task is over: whoever waits is told why. */
  fail(reason: unknown): void {
    this.stop();
    const waits = [...this.#waits.values()];
    this.#waits.clear();
    for (const wait of waits) wait.reject(reason);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #changed(): void {
    this.stop();
    this.#parts.idle(this.#waits.size > 0 && this.#busy === 0);
    const nextMs = this.#nextMs();
    if (nextMs !== undefined) this.#timer = this.#parts.clock.setTimer(nextMs, () => this.#due());
  }

  /** When there is something to do: a time comes, a deadline passes, or it is time to park. */
  #nextMs(): number | undefined {
    const now = this.#parts.clock.now();
    const times = [...this.#waits.values()].flatMap((wait) => {
      const at = wait.for === 'time' ? wait.until : wait.deadline;
      return at === undefined ? [] : [Math.max(0, at - now)];
    });
    const parkMs = this.#parkMs(now);
    if (parkMs !== undefined) times.push(parkMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #due(): void {
    this.#timer = undefined;
    const now = this.#parts.clock.now();
    for (const [key, wait] of this.#waits) {
      if (wait.for === 'time' && wait.until <= now) {
        this.#waits.delete(key);
        wait.resolve();
      } else if (wait.for === 'answer' && wait.deadline !== undefined && wait.deadline <= now) {
        wait.deadline = undefined; // Once is enough; the answer that follows closes it.
        this.#parts.expire(key);
      }
    }
    if (this.#parkMs(now) === 0) this.#parts.park(this.#wakeAt());
    else this.#changed();
  }

  /** Milliseconds until the handler may be put away; undefined: it may not. */
  #parkMs(now: number): number | undefined {
    if (this.#waits.size === 0 || this.#busy > 0 || !this.#parts.mayPark()) return undefined;
    const { clock, holdMs } = this.#parts;
    let parkMs = 0;
    for (const wait of this.#waits.values()) {
      if (wait.for === 'answer') parkMs = Math.max(parkMs, holdMs - (clock.monotonic() - wait.since));
      // A nap is over before parking would pay.
      else if (wait.until - now <= holdMs) return undefined;
    }
    return Math.max(0, parkMs);
  }

  #wakeAt(): number | undefined {
    const times = [...this.#waits.values()].flatMap((wait) => {
      const at = wait.for === 'time' ? wait.until : wait.deadline;
      return at === undefined ? [] : [at];
    });
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
