import { type ChildProcess, spawn as spawnNode } from 'node:child_process';
import { closeSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '../../../core/index.ts';
import { endFamily, type FamilyEnd, familyOf } from '../../processes/process-family.ts';
import { identify, markedWith, type ProcessIdentity } from '../../processes/process-table.ts';
import { within } from '../../processes/within.ts';
import type { StartTrouble } from '../job-files.ts';
import type { ShellCommand } from '../options.ts';

/** What was written last may still be on its way, and a process that was left behind may still write. */
const LINGER_MS = 5_000;
/** After all of them were ended. */
const LAST_WORDS_MS = 250;
const WINDOWS = process.platform === 'win32';

export interface CommandExit {
  code: number | null;
  signal: string | null;
}

/** A command that leads a session of its own, and all that it starts. */
export class Command {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly pid: number;
  readonly identity: ProcessIdentity | undefined;
  readonly exited: Promise<CommandExit>;
  readonly #child: ChildProcess;
  readonly #closed: Promise<void>;
  readonly #clock: Clock;
  readonly #graceMs: number;
  readonly #marker: string;
  #ending: Promise<FamilyEnd> | undefined;

  private constructor(child: ChildProcess, { clock, graceMs, marker }: CommandParts) {
    this.#child = child;
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.#marker = marker;
    this.pid = child.pid ?? 0;
    this.stdout = child.stdout as Readable;
    this.stderr = child.stderr as Readable;
    this.identity = identify(this.pid);
    this.#closed = new Promise((resolve) => child.once('close', () => resolve()));
    this.exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  }

  /** @returns why it could not be started, where it could not */
  static async start(
    { file, args, cwd, env, stdin }: ShellCommand & { cwd: string },
    folder: string,
    parts: CommandParts,
  ): Promise<Command | StartTrouble> {
    if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return { code: 'ENOENT', message: `the folder ${cwd} is not there` };
    }
    const input = stdin === undefined ? undefined : readable(stdin, folder);
    try {
      const spawn = WINDOWS ? ((await import('cross-spawn')).default as unknown as typeof spawnNode) : spawnNode;
      const child = spawn(isAbsolute(file) || !/[/\\]/.test(file) ? file : join(cwd, file), [...args], {
        cwd,
        env,
        stdio: [input ?? 'ignore', 'pipe', 'pipe'],
        detached: !WINDOWS, // A session of its own: it is ended with all that it starts.
        windowsHide: true,
      });
      const begun = new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
      const command = child.pid === undefined ? undefined : new Command(child, parts);
      await begun;
      child.on('error', () => {}); // That a signal could not be sent is told by who is left.
      return command ?? { code: 'UNKNOWN', message: `${file} has no process` };
    } catch (error) {
      return troubleOf(file, error);
    } finally {
      if (input !== undefined) closeSync(input);
    }
  }

  /** Resolves when nothing more will be read of it: its streams have ended, or those who hold them were given their time. */
  async quiet(): Promise<{ family: FamilyEnd; escaped: number[] }> {
    await this.exited;
    await within(LINGER_MS, this.#clock, this.#closed);
    // Whoever is left in its session goes with it; whoever made a session of its own was meant to stay, unless all is to end.
    const escaped = this.#ending === undefined ? this.#escaped() : [];
    const family = await (this.#ending ?? this.#endFamily({ all: false }));
    await within(LAST_WORDS_MS, this.#clock, this.#closed);
    for (const stream of [this.stdout, this.stderr]) stream.destroy();
    return { family, escaped };
  }

  /** SIGTERM to all of it, also to those that left its session, and after the grace SIGKILL. */
  end(): void {
    this.#ending ??= this.#endFamily({ all: true });
  }

  async #endFamily({ all }: { all: boolean }): Promise<FamilyEnd> {
    if (this.identity === undefined) {
      if (this.#child.exitCode === null) this.#child.kill('SIGKILL');
      return { killed: 0, left: [] };
    }
    return endFamily(this.identity, {
      clock: this.#clock,
      termGraceMs: this.#graceMs,
      known: familyOf(this.identity), // Their parents are there still.
      ...(all && { more: () => this.#marked() }),
    });
  }

  #escaped(): number[] {
    const family = new Set(this.identity === undefined ? [] : familyOf(this.identity).map(({ pid }) => pid));
    return this.#marked()
      .map(({ pid }) => pid)
      .filter((pid) => !family.has(pid));
  }

  #marked(): ProcessIdentity[] {
    return markedWith(this.#marker).filter(({ pid }) => pid !== process.pid);
  }
}

export interface CommandParts {
  clock: Clock;
  graceMs: number;
  /** A variable that all of its processes have, as `NAME=value`. */
  marker: string;
}

/** In a file that has no name any more. */
function readable(text: string, folder: string): number {
  const path = join(folder, 'stdin');
  writeFileSync(path, text, { mode: 0o600 });
  const fd = openSync(path, 'r');
  rmSync(path, { force: true });
  return fd;
}

function troubleOf(file: string, error: unknown): StartTrouble {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
  const words: Record<string, string> = {
    ENOENT: `${file}: there is no such program`,
    EACCES: `${file}: it may not be run`,
    E2BIG: `${file}: its arguments and its environment are too long`,
    ENOEXEC: `${file}: it is no program that this machine can run`,
  };
  return { code, message: words[code] ?? `${file}: ${message}` };
}
