import type { JobContext } from '../../core/index.ts';

/** What is run for one call. */
export interface ShellCommand {
  /** A program, looked for in the `PATH` of `env` where it has no slash in it. No shell reads it. */
  file: string;
  args: readonly string[];
  /** @default the folder that the server runs in */
  cwd?: string;
  /** All that the command gets of an environment, beside `LONGCALL_ASK_URL`, `LONGCALL_ASK_TOKEN` and `LONGCALL_JOB`. */
  env: Readonly<Record<string, string>>;
  /** What it reads on stdin. @default nothing: its end comes at once */
  stdin?: string;
}

/** What a command may use up. */
export interface ShellLimits {
  /** Wall time in milliseconds, counted where it runs, also while no server lives; then it is stopped. @default no limit */
  timeoutMs?: number;
  /** How long its processes may take to end after SIGTERM, in milliseconds, before SIGKILL. @default 10_000 */
  graceMs?: number;
  /** How much is kept of the beginning of its output, in bytes. @default 2 MiB */
  headBytes?: number;
  /** How much is kept of the end of its output, in bytes. @default 48 MiB */
  tailBytes?: number;
  /** A command that writes more than so many bytes is stopped. @default no limit */
  maxOutputBytes?: number;
  /** How much of the output the result shows, in bytes: its beginning and its end. @default 32 KiB */
  resultBytes?: number;
}

export interface ShellToolOptions<Args> {
  /**
   * Where jobs are kept, an absolute path: this user's alone, made with mode 0700. Every process that runs the tool has to name the
   * same one. What a job wrote lies there until its task is over.
   */
  folder: string;
  /**
   * What to run for these arguments. Called again, with the same arguments, where a start has to be repeated.
   * @throws {NonRetryableError} the task fails with its message
   */
  command: (args: Args, context: JobContext) => ShellCommand;
  limits?: ShellLimits;
  /** Values that are cut out of output, results and records before they are kept anywhere. @default none */
  secrets?: readonly string[];
  /** Exit codes that mean success. @default [0] */
  okCodes?: readonly number[];
  /**
   * What the result says: `text` shows the end of all output; `json` reads stdout as JSON into `structuredContent`, and is an error
   * where it is none. @default 'text'
   */
  output?: 'text' | 'json';
  /** Whether progress is read out of the output: markers, TAP and what common test runners print. @default true */
  progress?: boolean;
}

export const SHELL_DEFAULTS = {
  graceMs: 10_000,
  headBytes: 2 * 1024 * 1024,
  tailBytes: 48 * 1024 * 1024,
  resultBytes: 32 * 1024,
} as const;
