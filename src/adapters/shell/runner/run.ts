import { watch } from 'node:fs';
import { systemClock } from '../../../core/clock.ts';
import { redactor } from '../../processes/redactor.ts';
import { BEAT_MS, type JobExit, type JobFiles, type StopCause } from '../job-files.ts';
import { ProgressReader } from '../progress/progress-reader.ts';
import { Asking } from './asking.ts';
import { Command } from './command.ts';
import type { Piece } from './framer.ts';
import { LogFiles } from './log-files.ts';
import { note } from './note.ts';
import type { RunnerOrder } from './order.ts';
import { Output } from './output.ts';
import { Standing } from './standing.ts';

/** How often it is looked whether somebody wants something, should the system not tell. */
const LOOK_MS = 1_000;
/** How often the end is tried to be written to a disk that is full. */
const RETRY_MS = 1_000;
const NOTHING = { bytes: 0, lines: 0 };

/**
 * Runs the command of a job, writes its output and its end to the job's folder, and ends it when it takes too long or somebody says
 * so. Needs nobody else: whoever started it may be gone.
 * @param begun called once the command runs, or cannot
 */
export async function run(files: JobFiles, order: RunnerOrder, token: string, begun: () => void): Promise<void> {
  const job = new Job(files, order, token);
  await job.run(begun);
}

class Job {
  readonly #files: JobFiles;
  readonly #order: RunnerOrder;
  readonly #redact: (text: string) => string;
  readonly #standing: Standing;
  readonly #asking: Asking;
  readonly #token: string;
  readonly #startedAt = systemClock.now();
  readonly #progress = new ProgressReader();
  #command: Command | undefined;
  #cause: StopCause | undefined;

  constructor(files: JobFiles, order: RunnerOrder, token: string) {
    this.#files = files;
    this.#order = order;
    this.#token = token;
    this.#redact = redactor([...order.secrets, token]);
    this.#standing = new Standing(files, systemClock);
    this.#asking = new Asking({ files, standing: this.#standing, clock: systemClock, token, redact: this.#redact });
  }

  async run(begun: () => void): Promise<void> {
    process.on('SIGHUP', () => {}).on('SIGINT', () => {}); // It is nobody's terminal that ends it.
    process.on('SIGTERM', () => (this.#files.isCancelled ? this.#stop('cancel') : this.#stop('stopped')));
    const watching = watched(this.#files.folder, () => this.#look());
    const looking = setInterval(() => this.#look(), LOOK_MS);
    const beating = setInterval(() => this.#beat(), BEAT_MS);
    // Whatever it is: nobody would be there to end the command.
    process.on('uncaughtException', (error) => void this.#fail(error));
    try {
      this.#files.reserve();
      await this.#keep(await this.#end(begun));
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#asking.close();
      this.#standing.end();
      watching?.close();
      clearInterval(looking);
      clearInterval(beating);
    }
  }

  async #end(begun: () => void): Promise<JobExit> {
    const { key, command, limits, secrets, progress } = this.#order;
    const url = await this.#asking.listen();
    const never = { startedAt: this.#startedAt, stdout: NOTHING, stderr: NOTHING, killed: 0, escaped: [], left: [] };
    // It may have been cancelled before there was anything to end.
    if (this.#files.isCancelled) {
      begun();
      return { code: null, signal: null, cause: 'cancel', ...never, endedAt: systemClock.now() };
    }
    const own = { LONGCALL_JOB: key, LONGCALL_ASK_URL: url, LONGCALL_ASK_TOKEN: this.#token };
    const started = await Command.start({ ...command, env: { ...command.env, ...own } }, this.#files.folder, {
      clock: systemClock,
      graceMs: limits.graceMs,
      marker: `LONGCALL_JOB=${key}`,
    });
    if (!(started instanceof Command)) {
      begun();
      const trouble = { ...started, message: this.#redact(started.message) };
      return { code: null, signal: null, trouble, ...never, endedAt: systemClock.now() };
    }
    this.#command = started;
    this.#files.command = started.identity ?? { pid: started.pid };
    begun();
    const output = new Output({
      clock: systemClock,
      log: new LogFiles(this.#files.folder, limits),
      secrets: [...secrets, this.#token],
      ...(progress && { onPiece: (piece: Piece) => this.#saw(piece) }),
      onBytes: (bytes) => {
        if (limits.maxOutputBytes !== undefined && bytes > limits.maxOutputBytes) this.#stop('output');
      },
    });
    output.read('stdout', started.stdout);
    output.read('stderr', started.stderr);
    this.#look();
    const { timeoutMs } = limits;
    const limit = timeoutMs === undefined ? undefined : systemClock.setTimer(timeoutMs, () => this.#stop('timeout'));
    const { code, signal } = await started.exited;
    const endedAt = systemClock.now();
    limit?.cancel();
    const { family, escaped } = await started.quiet();
    output.end();
    const { seen } = this.#standing;
    return {
      code,
      signal,
      ...(this.#cause !== undefined && { cause: this.#cause }),
      startedAt: this.#startedAt,
      endedAt,
      ...output.counts,
      killed: family.killed,
      escaped,
      left: family.left.map(({ pid }) => pid),
      ...(seen !== undefined && { seen }),
    };
  }

  async #fail(error: unknown): Promise<void> {
    note(error instanceof Error ? (error.stack ?? error.message) : String(error));
    this.#command?.end();
    await this.#command?.quiet();
    process.exit(1);
  }

  #beat(): void {
    // Without its folder nobody finds it any more, nor can anybody cancel it.
    if (this.#files.exists) this.#files.beat();
    else this.#stop('stopped');
  }

  #look(): void {
    if (this.#files.isCancelled) this.#stop('cancel');
    this.#asking.look();
  }

  #stop(cause: StopCause): void {
    if (this.#command === undefined || this.#cause !== undefined) return;
    this.#cause = cause;
    this.#command.end();
  }

  #saw({ stream, overlong, data }: Piece): void {
    if (overlong) return;
    let changed = false;
    for (const line of data.toString('utf8').split('\n')) {
      if (line !== '' && this.#progress.line(line, stream)) changed = true;
    }
    if (changed) this.#standing.saw(this.#progress.seen);
  }

  /** Until it is written there is no end: whoever waits for it waits on. */
  async #keep(exit: JobExit): Promise<void> {
    for (;;) {
      try {
        this.#files.exit = exit;
        return;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT') return; // The folder is gone: nobody wants to know.
        this.#files.useReserve();
        note(`the end of the job could not be written (${code}); trying again`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

function watched(folder: string, listener: () => void): { close(): void } | undefined {
  try {
    const watcher = watch(folder, listener);
    watcher.on('error', () => watcher.close()); // It is looked by time as well.
    return watcher;
  } catch {
    return undefined;
  }
}
