import { mkdirSync, watch } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type JobAdapter, type JobContext, type JobSnapshot, NonRetryableError, taskLogUri } from '../../core/index.ts';
import { signalTo } from '../processes/process-family.ts';
import { JobFiles, type JobStanding } from './job-files.ts';
import { readLines } from './log-lines.ts';
import { endLeftovers, isIdentity, runnerState } from './look.ts';
import { SHELL_DEFAULTS, type ShellCommand, type ShellToolOptions } from './options.ts';
import { endOf } from './result.ts';
import { startRunner } from './start-runner.ts';
import { sweepJobs } from './sweep.ts';

/** Lines of output are handed over so many at a time. */
const PAGE_LINES = 4_000;
/** How often it is looked for news, should the system not tell. */
const NET_MS = 1_000;
/** How often it is looked whether a job that is being cancelled is over. */
const CANCEL_LOOK_MS = 25;
/** Over what its runner may take for that. */
const CANCEL_PATIENCE_MS = 10_000;

/**
 * A command of this machine as a job. It runs under a process of its own, which outlives this one: a server that was killed finds
 * the command again, with its output and its exit code. A job that is cancelled ends with all the processes that it started. After
 * a restart of the machine it is lost, and the tool's option `onLost` decides.
 */
export function shellTool<Args>(options: ShellToolOptions<Args>): JobAdapter<Args, string> {
  const { folder, limits = {}, secrets = [], okCodes = [0], output = 'text', progress = true } = options;
  if (!isAbsolute(folder)) throw new TypeError(`folder: expected an absolute path, got ${JSON.stringify(folder)}`);
  const { graceMs, headBytes, tailBytes, resultBytes } = { ...SHELL_DEFAULTS, ...limits };
  const { timeoutMs, maxOutputBytes } = limits;
  const filesOf = (key: string): JobFiles => new JobFiles(folder, key);

  const snapshotOf = async (key: string, { taskId }: JobContext): Promise<JobSnapshot> => {
    const files = filesOf(key);
    const state = runnerState(files);
    const { exit } = files; // After its runner: who is gone has written it before.
    if (exit !== undefined) {
      const logUri = taskLogUri(taskId);
      return endOf(files.folder, exit, { resultBytes, okCodes, output, timeoutMs, maxOutputBytes, logUri });
    }
    if (state.is === 'alive') return standing(files.standing);
    if (state.is === 'none') return { state: 'lost', message: 'there is no such job on this machine', effect: 'none' };
    const left = await endLeftovers(files, key, graceMs);
    const rest = left.length > 0 ? `, and processes of it could not be ended: ${left.join(', ')}` : '';
    return { state: 'lost', message: `the command has no exit code: ${state.why}${rest}` };
  };

  return {
    kind: 'shell',
    caps: {
      cancel: 'force',
      logs: 'live',
      input: true,
      push: true,
      idempotentStart: true,
      keepsSlot: true,
      survives: true,
    },
    refOf: ({ idempotencyKey }) => idempotencyKey,
    async start(args, context) {
      const key = context.idempotencyKey;
      const files = filesOf(key);
      if (files.runner === undefined && files.exit === undefined) {
        if (files.isCancelled) throw new NonRetryableError('cancelled before it was started');
        const command = checked(options.command(args, context));
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        sweepJobs(folder);
        files.make();
        await startRunner(files, {
          key,
          taskId: context.taskId,
          command: { ...command, cwd: command.cwd ?? process.cwd() },
          limits: {
            graceMs,
            headBytes,
            tailBytes,
            ...(timeoutMs !== undefined && { timeoutMs }),
            ...(maxOutputBytes !== undefined && { maxOutputBytes }),
          },
          secrets,
          progress,
        });
      }
      return { ref: key };
    },
    async find(_args, { idempotencyKey }) {
      const files = filesOf(idempotencyKey);
      return files.runner === undefined && files.exit === undefined ? undefined : idempotencyKey;
    },
    poll: snapshotOf,
    changed: (key, { signal }) => changed(filesOf(key), signal),
    async cancel(key) {
      const files = filesOf(key);
      if (files.exit !== undefined) return;
      files.cancel();
      await ended(files, key, graceMs);
    },
    async logs(key, cursor = '0') {
      const files = filesOf(key);
      const over = files.exit !== undefined || runnerState(files).is !== 'alive'; // Before the page, or lines are missed.
      const page = readLines(files.folder, Number(cursor), PAGE_LINES);
      return { lines: page.lines, cursor: String(page.cursor), eof: over && page.lines.length === 0 };
    },
    async answer(key, question, answer) {
      const files = filesOf(key);
      if (files.exists) files.answer(question, answer);
    },
    async release(key) {
      const files = filesOf(key);
      if (runnerState(files).is !== 'alive' || files.exit !== undefined) files.remove();
    },
  };
}

function checked(command: ShellCommand): ShellCommand {
  const { file, args, cwd, env } = command;
  if (file === '') throw new NonRetryableError('file: expected a program, got an empty text');
  for (const [what, text] of [['file', file] as const, ...args.map((arg, at) => [`args[${at}]`, arg] as const)]) {
    if (text.includes('\0')) throw new NonRetryableError(`${what}: a NUL character cannot be handed to a program`);
  }
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name) || value.includes('\0')) {
      throw new NonRetryableError(`env ${JSON.stringify(name)}: cannot be a variable`);
    }
  }
  if (cwd !== undefined && !isAbsolute(cwd)) throw new NonRetryableError('cwd: expected an absolute path');
  return command;
}

function standing({ questions, seen = {} }: JobStanding): JobSnapshot {
  const { message, progress } = seen;
  const told = { ...(message !== undefined && { message }), ...(progress !== undefined && { progress }) };
  return Object.keys(questions).length > 0 ? { state: 'input', questions, ...told } : { state: 'working', ...told };
}

/** Resolves at the next thing that is written in a job's folder, or after a while. */
function changed(files: JobFiles, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let watcher: { close(): void } | undefined;
    const done = (): void => {
      watcher?.close();
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, NET_MS).unref();
    signal.addEventListener('abort', done);
    try {
      watcher = watch(files.folder, { persistent: false }, done).on('error', done);
    } catch {
      // It is looked after a while.
    }
    if (signal.aborted) done();
  });
}

/** Until a job that is to end has ended, whatever its runner does. */
async function ended(files: JobFiles, key: string, graceMs: number): Promise<void> {
  const state = runnerState(files);
  if (state.is === 'alive' && !state.here) return; // It looks for that itself.
  if (state.is === 'alive') {
    const { runner } = state.record;
    // Told, it need not find out by looking, as it does where it cannot be told apart from others.
    if (isIdentity(runner)) signalTo(runner, 'SIGTERM');
    const until = performance.now() + graceMs + CANCEL_PATIENCE_MS;
    while (performance.now() < until && runnerState(files).is === 'alive') {
      if (files.exit !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, CANCEL_LOOK_MS));
    }
    if (files.exit !== undefined) return;
    if (isIdentity(runner)) signalTo(runner, 'SIGKILL');
  }
  await endLeftovers(files, key, graceMs);
}
