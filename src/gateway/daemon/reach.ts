import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock, RandomSource } from '../../core/index.ts';
import { FileLock } from '../../store/sqlite/file-lock.ts';
import { type Connected, connectDaemon } from './connect.ts';
import { lockPath } from './daemon.ts';
import { DaemonError } from './errors.ts';
import { FolderNews } from './folder-news.ts';
import { recordPath } from './record.ts';
import { logPath, openLog } from './rotating-log.ts';
import { startEnvironment } from './start-environment.ts';

/** How long a daemon may take to come up, or an old one to end. */
const PATIENCE_MS = 20_000;
/** How often to look where nothing tells. */
const LOOK_AGAIN_MS = 250;
const WINDOWS = process.platform === 'win32';
/**
 * Runs a program as nobody's child, and tells its exit code by a pipe: hosts end their servers with all that came of them, by
 * who is whose child where a session does not hold, and the daemon is also that of other hosts.
 */
const ORPHAN = 'exec 4>&2 2>/dev/null; ("$@" 2>&4 3>&- 4>&-; echo $? >&3) &'; // Shells tell of signals, in the log too.
/** With this a daemon ends that found another at work. As `EX_TEMPFAIL` of sysexits. */
export const TAKEN = 75;

export interface ReachOptions {
  /** Checked: this user's alone. */
  folder: string;
  version: string;
  /** Starts the daemon of this folder and stays. */
  command: { file: string; args: readonly string[] };
  env: NodeJS.ProcessEnv;
  clock: Clock;
  random: RandomSource;
  /** Give up. */
  signal?: AbortSignal;
  /** How long it may take altogether. @default 20 s */
  patienceMs?: number;
}

/**
 * Finds the daemon of a folder, or starts it. However many do so at once, one is started.
 * @throws {DaemonError} saying where its log is when it does not come up, and what to do about one of another version.
 */
export async function reachDaemon(options: ReachOptions): Promise<Connected> {
  const { folder, clock, signal, patienceMs = PATIENCE_MS } = options;
  const news = new FolderNews(recordPath(folder), clock);
  const ring = (): void => news.ring();
  signal?.addEventListener('abort', ring);
  const start = new Start(options, ring);
  const deadline = clock.monotonic() + patienceMs;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const connected = await connectDaemon(folder, options);
      if (connected?.version === options.version) return connected;
      if (connected === undefined) start.ifNobodyDoes();
      else await makeRoom(connected, options);
      if (clock.monotonic() >= deadline) throw notStarted(`is not up after ${patienceMs} ms`, folder);
      await news.next(LOOK_AGAIN_MS);
    }
  } finally {
    start.release();
    signal?.removeEventListener('abort', ring);
    news.close();
  }
}

function notStarted(what: string, folder: string): DaemonError {
  return new DaemonError('DAEMON_NOT_STARTED', `the daemon ${what}; its log is ${logPath(folder)}`);
}

/** Whoever starts a daemon holds a lock until it is up, so that others wait for it instead. */
class Start {
  readonly #options: ReachOptions;
  readonly #ring: () => void;
  #lock: FileLock | undefined;
  #child: ChildProcess | undefined;
  #failure: DaemonError | undefined;

  constructor(options: ReachOptions, ring: () => void) {
    this.#options = options;
    this.#ring = ring;
  }

  /** @throws {DaemonError} when the one that was started has ended. */
  ifNobodyDoes(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#child !== undefined) return;
    const { folder } = this.#options;
    try {
      this.#lock = FileLock.take(join(folder, 'start.lock'));
      if (this.#lock === undefined) return;
      // A daemon that has the lock is about to listen, or about to end.
      if (FileLock.isHeld(lockPath(folder))) this.release();
      else this.#spawn();
    } catch (error) {
      throw notStarted(`cannot be started (${(error as Error).message})`, folder);
    }
  }

  #spawn(): void {
    const { folder, command, env } = this.#options;
    const log = openLog(folder);
    const [file, ...args] = WINDOWS
      ? [command.file, ...command.args]
      : ['/bin/sh', '-c', ORPHAN, 'sh', command.file, ...command.args];
    const child = spawn(file as string, args, {
      cwd: folder, // Not the host's, which may want to remove it.
      env: startEnvironment(env),
      detached: true, // A group and a session of its own: what ends the host's does not end it.
      stdio: ['ignore', log, log, 'pipe'],
      windowsHide: true,
    });
    closeSync(log);
    child.unref();
    this.#child = child;
    child.once('error', (error) => this.#failed(`cannot be started (${error.message})`));
    if (WINDOWS) child.once('exit', (code, signal) => this.#ended(String(signal ?? code)));
    else this.#hear(child.stdio[3] as Socket);
  }

  /** The exit code comes by a pipe of its own, which does not keep this process here. */
  #hear(pipe: Socket): void {
    pipe.unref();
    let code = '';
    pipe.setEncoding('utf8').on('data', (text: string) => {
      code += text;
    });
    pipe.on('error', () => {}); // What was heard until then counts.
    pipe.once('close', () => this.#ended(code.trim()));
  }

  #ended(how: string): void {
    // What a shell says of a program that is not there, or must not be run.
    if (how === '127' || how === '126') {
      this.#failed(
        `cannot be started (${this.#options.command.file} ${how === '127' ? 'is not there' : 'is no program'})`,
      );
      return;
    }
    if (how !== String(TAKEN)) {
      this.#failed(`ended (${how}) before it was up`);
      return;
    }
    this.release(); // Another came first.
    this.#child = undefined;
    this.#ring();
  }

  #failed(how: string): void {
    this.#failure = notStarted(how, this.#options.folder);
    this.#ring();
  }

  release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }
}

/** Asks a daemon of another version to end, which it does if that costs nobody anything. */
async function makeRoom({ socket, version, record, ask }: Connected, options: ReachOptions): Promise<void> {
  try {
    const { ends, fronts } = await ask({ want: 'yield' });
    if (ends === true) return;
    throw new DaemonError(
      'DAEMON_VERSION',
      `the daemon in ${options.folder} (process ${record.pid}) is of version ${version} and this is ${options.version}; it serves ` +
        `${String(fronts)} other hosts or has open tasks. \`longcall daemon stop\` ends it, and its tasks go on with the next`,
    );
  } finally {
    socket.destroy();
  }
}
