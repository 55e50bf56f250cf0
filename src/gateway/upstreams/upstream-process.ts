import { type ChildProcess, execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import spawn from 'cross-spawn';
import { endFamily, type FamilyEnd, familyOf } from '../../adapters/processes/process-family.ts';
import { identify, type ProcessIdentity, standardStreams } from '../../adapters/processes/process-table.ts';
import { within } from '../../adapters/processes/within.ts';
import { RemoteUnreachableError } from '../../client/remote-errors.ts';
import { defaultEnvironment } from '../../client/transports.ts';
import type { Clock } from '../../core/index.ts';

export interface ProcessSettings {
  command: string;
  args: readonly string[];
  cwd: string | undefined;
  /** All it gets, beside the few variables that programs cannot do without. */
  env: Readonly<Record<string, string>>;
  clock: Clock;
  /** How long it may take to end once its input is closed, in milliseconds, before SIGTERM. */
  stdinGraceMs: number;
  /** How long it may take after SIGTERM, in milliseconds, before SIGKILL. */
  termGraceMs: number;
  /** How much may wait to be read by it, in bytes. */
  maxQueuedBytes: number;
  onStdout: (chunk: Buffer) => void;
  onStderr: (chunk: Buffer) => void;
}

export interface ProcessEnd {
  /** Both null where the system does not let go of it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  /** How many of its family had to be killed after SIGTERM did not help. */
  killed: number;
  /** Processes of its making that left its family and still hold its streams. They are not ended: they were meant to stay. */
  escaped: readonly number[];
  /** Who could not be ended. */
  left: readonly ProcessIdentity[];
}

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** What was said last may still be on its way when a process is gone. */
const LAST_WORDS_MS = 250;
const WINDOWS = process.platform === 'win32';

/** One life of a server: a process that leads a session of its own, all that it starts, and its three streams. */
export class UpstreamProcess {
  readonly identity: ProcessIdentity | undefined;
  /** Resolves when it ended, by itself or by {@link end}, and nothing is left of its family. */
  readonly ended: Promise<ProcessEnd>;
  /** Resolves when it ended and nothing more can be heard of it, which may be before its family is gone. */
  readonly quiet: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #settings: ProcessSettings;
  readonly #exited: Promise<Exit>;
  readonly #closed: Promise<void>;
  #exit: Exit | undefined;
  #closing: Promise<FamilyEnd> | undefined;
  /** Tells that it cannot be ended. */
  #stuck!: () => void;
  readonly #streams: readonly string[];

  private constructor(child: ChildProcess, settings: ProcessSettings) {
    this.#child = child;
    this.#settings = settings;
    this.identity = child.pid === undefined ? undefined : identify(child.pid);
    this.#streams = child.pid === undefined ? [] : standardStreams(child.pid);
    const nothing = (): void => {}; // What a stream of a dead process says is told by the write that it failed, and by the exit.
    for (const stream of [child, child.stdin, child.stdout, child.stderr]) stream?.on('error', nothing);
    child.stdout?.on('data', settings.onStdout);
    child.stderr?.on('data', settings.onStderr);
    this.#closed = new Promise((resolve) => child.once('close', () => resolve()));
    this.#exited = new Promise((resolve) => {
      this.#stuck = () => resolve({ code: null, signal: null });
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
      });
    });
    this.ended = this.#end();
    const silenced = this.#exited.then(async (exit) => {
      await this.#closed;
      return exit;
    });
    this.quiet = Promise.race([silenced, this.ended]);
  }

  /**
   * @throws {@link RemoteUnreachableError} when there is no such program, or it cannot be run, saying which
   */
  static async start(settings: ProcessSettings): Promise<UpstreamProcess> {
    const { command, args, cwd, env } = settings;
    // Else the system says that there is no such program.
    if (cwd !== undefined && statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw cannotStart(`the folder ${cwd} is not there`);
    }
    try {
      const child = spawn(command, [...args], {
        cwd,
        env: { ...defaultEnvironment(), ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: !WINDOWS, // A session of its own: signals to ours do not reach it, and it is ended with all it starts.
        windowsHide: true,
      });
      const started = new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
      const one = child.pid === undefined ? undefined : new UpstreamProcess(child, settings);
      await started;
      if (one === undefined) throw new Error('it has no process id');
      return one;
    } catch (error) {
      throw cannotStart(reasonOf(error), error);
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** How much waits to be read by it, in bytes. */
  get queuedBytes(): number {
    return this.#child.stdin?.writableLength ?? 0;
  }

  /** Resolves when the system took it; a server that does not read holds its callers up, not this process's memory. */
  async write(text: string): Promise<void> {
    const { stdin } = this.#child;
    if (this.#exit !== undefined || stdin?.writable !== true) {
      throw new RemoteUnreachableError('the server has ended', { mayHaveRun: false });
    }
    if (stdin.writableLength > this.#settings.maxQueuedBytes) {
      const message = `the server does not read: ${stdin.writableLength} bytes wait for it`;
      throw new RemoteUnreachableError(message, { mayHaveRun: false });
    }
    await new Promise<void>((resolve, reject) => {
      stdin.write(text, (error) => {
        if (error == null) resolve();
        else
          reject(
            new RemoteUnreachableError('the server ended while it was written to', { cause: error, mayHaveRun: true }),
          );
      });
    });
  }

  /** Ends it: closes its input, as MCP says, then SIGTERM, then SIGKILL to it and whatever it started. */
  end(): Promise<ProcessEnd> {
    this.#closing ??= this.#close();
    return this.ended;
  }

  async #close(): Promise<FamilyEnd> {
    const { clock, stdinGraceMs } = this.#settings;
    const known = this.identity === undefined ? [] : familyOf(this.identity); // Their parents are there still.
    this.#child.stdin?.end();
    await within(stdinGraceMs, clock, this.#exited);
    const end = await this.#endFamily(known);
    if (end.left.some(({ pid }) => pid === this.#child.pid)) this.#stuck();
    return end;
  }

  async #end(): Promise<ProcessEnd> {
    const exit = await this.#exited;
    // Where only the launcher ended, the server it started goes with it.
    const { killed, left } = await (this.#closing ?? this.#endFamily([]));
    await within(LAST_WORDS_MS, this.#settings.clock, this.#closed);
    const escaped = this.#exit !== undefined && this.#child.stdout?.closed === false ? this.#holders() : [];
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    return { ...exit, killed, escaped, left };
  }

  async #endFamily(known: readonly ProcessIdentity[]): Promise<FamilyEnd> {
    const { clock, termGraceMs } = this.#settings;
    if (this.identity !== undefined) return endFamily(this.identity, { clock, termGraceMs, known });
    if (this.#exit === undefined) await killTree(this.#child);
    return { killed: 0, left: [] };
  }

  #holders(): number[] {
    if (this.#streams.length === 0) return [];
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && standardStreams(pid).some((stream) => this.#streams.includes(stream)));
  }
}

/** Where nothing can be learned of processes, as on Windows, only its own tools know who belongs to whom. */
async function killTree(child: ChildProcess): Promise<void> {
  if (!WINDOWS) child.kill('SIGKILL');
  else await new Promise((resolve) => execFile('taskkill', ['/pid', String(child.pid), '/T', '/F'], resolve));
}

function cannotStart(reason: string, cause?: unknown): RemoteUnreachableError {
  return new RemoteUnreachableError(`cannot be started: ${reason}`, { cause, mayHaveRun: false });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such program';
  if (code === 'EACCES') return 'the program may not be run';
  return message;
}
