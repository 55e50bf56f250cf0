import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, systemClock, type Timer } from '../../core/index.ts';
import { type LoadedConfig, loadConfig } from './load.ts';

/** An editor writes a file in several goes; it is read when nothing has happened to it for so long. */
const SETTLED_MS = 100;

interface WatchOptions {
  /** What is served already, and need not be told again. @default the first thing told is what the file says now */
  current?: LoadedConfig;
  env?: Readonly<Record<string, string | undefined>>;
  clock?: Clock;
  /** Where SIGHUP comes from. @default this process, but on Windows, where it means that the window was closed */
  signals?: Pick<NodeJS.Process, 'on' | 'off'>;
}

export interface ConfigWatch {
  /** Reads the file now, and tells what it says even if that is nothing new. */
  reload(): Promise<void>;
  close(): void;
}

/**
 * Tells of every configuration that a file comes to have, one after the other: when it is changed or replaced, and on SIGHUP.
 * Files that it refers to are read again with it, but not watched: SIGHUP is for them.
 * @param onError hears why a file cannot be used, with everything that is wrong; what was served before goes on
 */
export function watchConfig(
  file: string,
  onConfig: (loaded: LoadedConfig) => void | Promise<void>,
  onError: (error: Error) => void,
  options: WatchOptions = {},
): ConfigWatch {
  const watching = new Watching(file, onConfig, onError, options);
  watching.begin();
  return watching;
}

class Watching implements ConfigWatch {
  readonly #file: string;
  readonly #onConfig: (loaded: LoadedConfig) => void | Promise<void>;
  readonly #onError: (error: Error) => void;
  readonly #env: WatchOptions['env'];
  readonly #clock: Clock;
  readonly #signals: WatchOptions['signals'];
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onHangUp = (): void => void this.reload();
  #current: LoadedConfig | undefined;
  /** How the file looked when it was noticed last, and when it was read last. */
  #seen = '';
  #read = '';
  #timer: Timer | undefined;
  #queue: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    file: string,
    onConfig: (loaded: LoadedConfig) => void | Promise<void>,
    onError: (error: Error) => void,
    options: WatchOptions,
  ) {
    this.#file = resolve(file);
    this.#onConfig = onConfig;
    this.#onError = onError;
    this.#env = options.env;
    this.#clock = options.clock ?? systemClock;
    this.#signals = options.signals ?? (process.platform === 'win32' ? undefined : process);
    this.#current = options.current;
  }

  begin(): void {
    this.#signals?.on('SIGHUP', this.#onHangUp);
    this.#watchFolders();
    // What was changed since it was read, and before anybody watched.
    this.#seen = stampOf(this.#file);
    void this.#enqueue(false);
  }

  reload(): Promise<void> {
    return this.#enqueue(true);
  }

  close(): void {
    this.#closed = true;
    this.#signals?.off('SIGHUP', this.#onHangUp);
    this.#timer?.cancel();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #enqueue(asked: boolean): Promise<void> {
    this.#queue = this.#queue.then(() => this.#look(asked)).catch((error: unknown) => this.#fail(error));
    return this.#queue;
  }

  async #look(asked: boolean): Promise<void> {
    if (this.#closed) return;
    const stamp = stampOf(this.#file); // Before it is read: a change in between is then noticed.
    if (!asked && stamp === this.#read) return;
    this.#read = stamp;
    this.#watchFolders();
    const loaded = loadConfig(this.#file, this.#env);
    if (!asked && isDeepStrictEqual(loaded, this.#current)) return;
    await this.#onConfig(loaded);
    this.#current = loaded;
  }

  #fail(error: unknown): void {
    if (!this.#closed) this.#onError(error instanceof Error ? error : new Error(String(error)));
  }

  /** Something happened in a folder. Much else may go on there. */
  #notice(): void {
    const stamp = stampOf(this.#file);
    if (this.#closed || stamp === this.#seen) return;
    this.#seen = stamp;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(SETTLED_MS, () => void this.#enqueue(false));
  }

  /**
   * Folders and not the file: an editor that saves puts another file in its place. Where the file is a link, also the folder of
   * what it leads to, which may be another one by now.
   */
  #watchFolders(): void {
    const folders = new Set([dirname(this.#file)]);
    try {
      folders.add(dirname(realpathSync(this.#file)));
    } catch {
      // It is not there at the moment, which reading it tells.
    }
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  #watch(folder: string): void {
    const deaf = (error: Error): void => {
      this.#watchers.get(folder)?.close();
      this.#watchers.delete(folder);
      this.#fail(
        new Error(`changes in ${folder} are not noticed (${error.message}); SIGHUP still reloads`, { cause: error }),
      );
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#notice());
      this.#watchers.set(folder, watcher.on('error', deaf));
    } catch (error) {
      deaf(error as Error);
    }
  }
}

/** Changes when the file does, or is replaced by another. */
function stampOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'none' : [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
}
