import type { Clock, Timer } from '../core/index.ts';
import type { OnQuestion, Remote, RemoteTask } from './remote.ts';
import { RemoteUnreachableError } from './remote-errors.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface DeskLimits {
  /** How many requests about tasks may be on their way to the server at once. */
  maxInFlight: number;
  /** After this many milliseconds without an answer a request counts as unanswered. */
  requestTimeoutMs: number;
}

/** Who is told of pushes about a task. */
interface Follower {
  onTask: (task: RemoteTask) => void;
  /** It was told of changes, and is not any more: some may have passed unheard. */
  onSilence: () => void;
}

/** How long changes of what is followed are gathered before the server is told. */
const GATHER_MS = 50;

/**
 * What all calls to one server share: the requests on their way to it, how long it asked to be left alone, and its pushes.
 * A slow or dead server delays only its own calls.
 */
export class ServerDesk {
  readonly remote: Remote;
  /** Answers what tasks of the server ask. */
  readonly onQuestion: OnQuestion | undefined;
  readonly #clock: Clock;
  readonly #limits: DeskLimits;
  readonly #queue: (() => void)[] = [];
  readonly #followers = new Map<string, Follower>();
  #inFlight = 0;
  #closedUntil = Number.NEGATIVE_INFINITY;
  #gathering: Timer | undefined;
  #pushed: ReadonlySet<string> = new Set();
  #unwatch: (() => void) | undefined;

  constructor(remote: Remote, onQuestion: OnQuestion | undefined, clock: Clock, limits: DeskLimits) {
    this.remote = remote;
    this.onQuestion = onQuestion;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Sends a request about a task when it is its turn. Rejects with the signal's reason when nobody waits any more. */
  async ask<Result>(signal: AbortSignal, request: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    await this.#turn(signal);
    try {
      return await this.#answered(signal, request);
    } finally {
      this.#inFlight -= 1;
      this.#queue.shift()?.();
    }
  }

  /** Milliseconds the server still wants to be left alone. */
  get closedMs(): number {
    return Math.max(0, this.#closedUntil - this.#clock.monotonic());
  }

  /** The server asked to be left alone, by whichever answer. */
  leaveAlone(ms: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.monotonic() + ms);
  }

  /** Tells of pushes about a task, where there are any. Returns the function that ends it. */
  follow(taskId: string, onTask: Follower['onTask'], onSilence: Follower['onSilence']): () => void {
    if (this.remote.watch === undefined) return () => {};
    this.#followers.set(taskId, { onTask, onSilence });
    this.#gather();
    return () => {
      this.#followers.delete(taskId);
      this.#gather();
    };
  }

  /** Whether the server says that it tells of changes of this task. */
  pushes(taskId: string): boolean {
    return this.#pushed.has(taskId);
  }

  close(): void {
    this.#gathering?.cancel();
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#pushed = new Set();
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#inFlight >= this.#limits.maxInFlight) {
      await new Promise<void>((resolve, reject) => {
        const go = (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const leave = (): void => {
          this.#queue.splice(this.#queue.indexOf(go), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        this.#queue.push(go);
      });
    }
    this.#inFlight += 1;
  }

  /** A request that is never answered must not keep its place for ever, whatever the transport does about it. */
  async #answered<Result>(signal: AbortSignal, request: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    signal.throwIfAborted(); // Between its turn and now.
    const over = new AbortController();
    const { requestTimeoutMs } = this.#limits;
    const timer = this.#clock.setTimer(requestTimeoutMs, () =>
      over.abort(new RemoteUnreachableError(`no answer within ${requestTimeoutMs} ms`, { mayHaveRun: true })),
    );
    const leave = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await unlessAborted(request(over.signal), over.signal);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', leave);
    }
  }

  /** Every change is told with all tasks that are followed: the more there are, the longer changes are gathered. */
  #gather(): void {
    this.#gathering ??= this.#clock.setTimer(GATHER_MS + this.#followers.size / 10, () => {
      this.#gathering = undefined;
      this.#unwatch?.();
      this.#unwatch = this.#followers.size === 0 ? undefined : this.#watch([...this.#followers.keys()]);
    });
  }

  #watch(taskIds: readonly string[]): (() => void) | undefined {
    let current = true;
    const onPushed = (pushed: ReadonlySet<string>): void => {
      if (!current) return;
      const before = this.#pushed;
      this.#pushed = new Set(pushed);
      for (const taskId of before) if (!pushed.has(taskId)) this.#followers.get(taskId)?.onSilence();
    };
    const unwatch = this.remote.watch?.(taskIds, (task) => this.#followers.get(task.taskId)?.onTask(task), onPushed);
    return () => {
      current = false; // What was granted holds until the next stream says what it grants.
      unwatch?.();
    };
  }
}
