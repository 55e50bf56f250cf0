import type { Clock, Logger } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';

/** For so long lines of one kind are counted together, in milliseconds. */
const WINDOW_MS = 60_000;
/** Lines of one kind that are written whole within that time. */
const BURST = { warn: 1, error: 10 } as const;

type Level = keyof typeof BURST;

interface Window {
  said: number;
  left: number;
}

/**
 * What operators are told of requests that were not served. Peers cause such requests as fast as they like, so that each
 * kind has its own few lines a minute, and what is beyond them is counted: nobody fills a disk or hides in the noise. An
 * `error` is a fault of this side, whose causes may differ; a `warn` says that a limit was reached, which is said once.
 */
export class TroubleLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #windows = new Map<string, Window>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param kind where it happened and what: from a set that peers cannot add to */
  note(level: Level, kind: Record<string, string>, details: object, message: string): void {
    const key = JSON.stringify([message, kind]);
    const window = this.#windows.get(key) ?? this.#open(key, level, kind, message);
    if (window.said >= BURST[level]) {
      window.left += 1;
      return;
    }
    window.said += 1;
    this.#logger[level]({ ...kind, ...details }, message);
  }

  #open(key: string, level: Level, kind: object, message: string): Window {
    const window: Window = { said: 0, left: 0 };
    this.#windows.set(key, window);
    this.#clock.setTimer(WINDOW_MS, () => {
      this.#windows.delete(key);
      if (window.left > 0) this.#logger[level]({ ...kind, more: window.left }, message);
    });
    return window;
  }
}

const logs = new WeakMap<Tasks, TroubleLog>();

/** The one of these tasks, however many servers they are served by. */
export function troubleLogOf(tasks: Tasks): TroubleLog {
  let log = logs.get(tasks);
  if (log === undefined) {
    log = new TroubleLog(tasks.logger, tasks.engine.clock);
    logs.set(tasks, log);
  }
  return log;
}
