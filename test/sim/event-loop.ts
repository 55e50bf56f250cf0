import type { Clock } from '../../src/core/index.ts';

/** Whose code runs: the timers and immediates it sets are its own, stop with it and die with it. */
export interface Owner {
  readonly name: string;
  readonly fate: 'alive' | 'frozen' | 'dead';
}

/** Why something waits for the scheduler. `hang` goes on only when the run calms down. */
export type HeldKind = 'call' | 'handler' | 'hang' | 'bell';

/** Something that could happen next. */
export interface Happening {
  owner: Owner;
  label: string;
  run: () => void;
}

interface Pending {
  owner: Owner;
  label: string;
  callback: () => void;
}
interface PendingTimer extends Pending {
  dueAt: number;
  order: number;
}
interface Held extends Pending {
  kind: HeldKind;
}

const real = { setImmediate, clearImmediate, setTimeout, clearTimeout };

/** Where a simulated process runs, if one does right now. Only one simulation runs at a time in a Node process. */
let running: { loop: EventLoop; owner: Owner } | undefined;

/** Whose code runs right now. */
export const currentOwner = (): Owner | undefined => running?.owner;

/**
 * The event loop of all simulated processes, one happening at a time and in an order that the caller chooses. Timers,
 * `setImmediate` and whatever is held wait here; promises are let run dry after each happening, so that nothing is left
 * to the real event loop.
 */
export class EventLoop {
  /** Milliseconds since the run began; never jumps. */
  elapsed = 0;
  #wallOffset: number;
  #order = 0;
  readonly #immediates: Pending[] = [];
  readonly #timers: PendingTimer[] = [];
  readonly #held: Held[] = [];

  constructor(startAt: number) {
    this.#wallOffset = startAt;
  }

  /** Wall time, in whole milliseconds since the Unix epoch. */
  get now(): number {
    return this.#wallOffset + Math.floor(this.elapsed);
  }

  clockOf(owner: Owner): Clock {
    return {
      now: () => this.now,
      monotonic: () => this.elapsed,
      setTimer: (delayMs, callback) => this.#setTimer(owner, delayMs, callback, 'timer'),
    };
  }

  /** Waits until the scheduler lets it go on; for ever, if the owner dies before. */
  hold(owner: Owner, kind: HeldKind, label: string): Promise<void> {
    return new Promise((resolve) => this.#held.push({ owner, kind, label, callback: resolve }));
  }

  /** All that could happen next, but for what is held as `except`; each owner's immediates and timers keep their order. */
  happenings(except: readonly HeldKind[]): Happening[] {
    const found: Happening[] = [];
    const seen = new Set<Owner>();
    for (const immediate of this.#immediates) {
      if (immediate.owner.fate !== 'alive' || seen.has(immediate.owner)) continue;
      seen.add(immediate.owner);
      found.push(this.#happening(immediate, this.#immediates));
    }
    for (const timer of this.#firstTimers()) {
      if (timer.owner.fate === 'alive' && timer.dueAt <= this.elapsed) found.push(this.#happening(timer, this.#timers));
    }
    for (const held of this.#held) {
      if (held.owner.fate !== 'alive' || except.includes(held.kind)) continue;
      found.push(this.#happening(held, this.#held));
    }
    return found;
  }

  /** Milliseconds until the next timer of a living owner; undefined when there is none. */
  get untilNextTimer(): number | undefined {
    const due = this.#timers.filter(({ owner }) => owner.fate === 'alive').map(({ dueAt }) => dueAt);
    return due.length === 0 ? undefined : Math.max(0, Math.min(...due) - this.elapsed);
  }

  /** Runs `action` as `owner`'s code, and all that follows from it without waiting for anything. */
  async run(owner: Owner, action: () => void): Promise<void> {
    if (running !== undefined) throw new Error(`${running.owner.name} is still running`);
    running = { loop: this, owner };
    try {
      action();
      await this.drain();
    } finally {
      running = undefined;
    }
  }

  /** Lets promises run dry: a real immediate comes after all of them. */
  drain(): Promise<void> {
    return new Promise((resolve) => void real.setImmediate(resolve));
  }

  /** Lets time pass; what falls due becomes a happening. */
  advance(ms: number): void {
    this.elapsed += ms;
  }

  /** Moves wall time alone, as an administrator or a time server would. */
  jump(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Runs what `owner` had queued for this turn: commits that reach the disk before it dies. */
  async runImmediates(owner: Owner): Promise<void> {
    for (const { callback } of take(this.#immediates, owner)) await this.run(owner, callback);
  }

  /** Nothing of `owner` happens any more. */
  forget(owner: Owner): void {
    for (const list of [this.#immediates, this.#timers, this.#held]) take(list, owner);
  }

  /** Gives the globals of Node to simulated processes while they run. Returns the function that takes them back. */
  static install(): () => void {
    const global = globalThis as unknown as Record<string, unknown>;
    global.setImmediate = (callback: (...args: unknown[]) => void, ...args: unknown[]) => {
      if (running === undefined) return real.setImmediate(callback, ...args);
      return running.loop.#setImmediate(running.owner, () => callback(...args));
    };
    global.setTimeout = (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
      if (running === undefined) return real.setTimeout(callback, delayMs, ...args);
      return running.loop.#setTimer(running.owner, delayMs, () => callback(...args), 'timeout');
    };
    const clear = (handle: unknown, otherwise: (handle: never) => void): void => {
      if (handle instanceof SimulatedTimer) handle.cancel();
      else otherwise(handle as never);
    };
    global.clearImmediate = (handle: unknown) => clear(handle, real.clearImmediate);
    global.clearTimeout = (handle: unknown) => clear(handle, real.clearTimeout);
    return () => Object.assign(globalThis, real);
  }

  #setImmediate(owner: Owner, callback: () => void): SimulatedTimer {
    const pending = { owner, label: 'turn', callback };
    this.#immediates.push(pending);
    return new SimulatedTimer(() => remove(this.#immediates, pending));
  }

  #setTimer(owner: Owner, delayMs: number, callback: () => void, label: string): SimulatedTimer {
    if (owner.fate === 'dead') return new SimulatedTimer(() => {});
    this.#order += 1;
    const pending = { owner, label, callback, dueAt: this.elapsed + Math.max(0, delayMs), order: this.#order };
    this.#timers.push(pending);
    return new SimulatedTimer(() => remove(this.#timers, pending));
  }

  #firstTimers(): PendingTimer[] {
    const first = new Map<Owner, PendingTimer>();
    for (const timer of this.#timers) {
      const other = first.get(timer.owner);
      const earlier = other === undefined || timer.dueAt < other.dueAt;
      if (earlier || (timer.dueAt === other.dueAt && timer.order < other.order)) first.set(timer.owner, timer);
    }
    return [...first.values()];
  }

  #happening<Item extends Pending>(item: Item, list: Item[]): Happening {
    const run = (): void => {
      remove(list, item);
      item.callback();
    };
    return { owner: item.owner, label: item.label, run };
  }
}

/** What `setTimeout` and `Clock.setTimer` give back. */
class SimulatedTimer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

function take<Item extends Pending>(list: Item[], owner: Owner): Item[] {
  const taken = list.filter((pending) => pending.owner === owner);
  for (const pending of taken) remove(list, pending);
  return taken;
}

function remove<Item>(list: Item[], item: Item): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
