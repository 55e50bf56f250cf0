import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import type { Chance } from './chance.ts';
import { currentOwner, type EventLoop, type Owner } from './event-loop.ts';

/** How often a bell is lost on its way to another process, comes late, or rings twice. */
export interface BellFaults {
  lost: number;
  late: number;
  twice: number;
}

/** An owner whose files are looked after. */
export interface FileOwner extends Owner {
  readonly files: Files;
}

interface Watch {
  owner: Owner;
  heard: () => void;
}

const original = { watch: fs.watch, write: fs.write, openSync: fs.openSync, closeSync: fs.closeSync };

/**
 * What simulated processes do with the bell file: whoever writes to it rings, and whoever watches it hears, when the
 * scheduler says so. Real file events would come when they like, and no seed could replay them.
 */
export class Files {
  readonly #loop: EventLoop;
  readonly #chance: Chance;
  readonly #faults: () => BellFaults;
  readonly #open = new Map<number, Owner>();
  #watches: Watch[] = [];

  constructor(loop: EventLoop, chance: Chance, faults: () => BellFaults) {
    this.#loop = loop;
    this.#chance = chance;
    this.#faults = faults;
  }

  /** As the operating system does when a process ends. */
  closeAll(owner: Owner): void {
    this.#watches = this.#watches.filter((watch) => watch.owner !== owner);
    for (const [fd, opener] of this.#open) if (opener === owner) this.closed(fd, original.closeSync);
  }

  opened(fd: number, owner: Owner): number {
    this.#open.set(fd, owner);
    return fd;
  }

  closed(fd: number, close: (fd: number) => void): void {
    this.#open.delete(fd);
    close(fd);
  }

  watch(owner: Owner, heard: () => void): object {
    const watch = { owner, heard };
    this.#watches.push(watch);
    const close = (): void => {
      this.#watches = this.#watches.filter((other) => other !== watch);
    };
    return { close, on: () => {}, unref: () => {} };
  }

  ring(): void {
    const { lost, twice } = this.#faults();
    for (const { owner, heard } of this.#watches) {
      const times = (this.#chance.odds(lost) ? 0 : 1) + (this.#chance.odds(twice) ? 1 : 0);
      for (let time = 0; time < times; time += 1) void this.#loop.hold(owner, 'bell', 'hears the bell').then(heard);
    }
  }
}

/** Gives file events to simulated processes while they run. Returns the function that takes them back. */
export function watchFiles(): () => void {
  const owner = (): FileOwner | undefined => currentOwner() as FileOwner | undefined;
  const patched = {
    openSync: (...args: Parameters<typeof fs.openSync>): number => {
      const fd = original.openSync(...args);
      return owner()?.files.opened(fd, owner() as Owner) ?? fd;
    },
    closeSync: (fd: number): void => {
      const files = owner()?.files;
      if (files === undefined) original.closeSync(fd);
      else files.closed(fd, original.closeSync);
    },
    watch: (...args: unknown[]): unknown => {
      const files = owner()?.files;
      if (files === undefined) return Reflect.apply(original.watch, fs, args);
      return files.watch(owner() as Owner, args.at(-1) as () => void);
    },
    write: (...args: unknown[]): unknown => {
      const files = owner()?.files;
      if (files === undefined) return Reflect.apply(original.write, fs, args);
      files.ring();
      const written = args.at(-1) as (error: null) => void;
      setImmediate(() => written(null));
      return undefined;
    },
  };
  Object.assign(fs, patched);
  syncBuiltinESMExports();
  return () => {
    Object.assign(fs, original);
    syncBuiltinESMExports();
  };
}
