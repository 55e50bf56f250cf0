import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from './processes.ts';

/** The command as people run it: the built file. */
export const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Where it is run. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  cwd?: string;
}

export interface Running {
  child: ChildProcessWithoutNullStreams;
  text: { stdout: string; stderr: string };
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

export function start(around: Surroundings, program: string, args: readonly string[]): Running {
  const child = spawn(program, args, { ...around, stdio: ['pipe', 'pipe', 'pipe'] });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (some: string) => {
      text[name] += some;
    });
  }
  child.stdin.on('error', () => {}); // It may have ended without reading.
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'gone'));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, text, ended };
}

export function longcall(around: Surroundings, ...args: readonly string[]): Running {
  return start(around, process.execPath, [main, ...args]);
}

/** To its end. */
export async function cli(around: Surroundings, args: readonly string[], stdin?: string) {
  const { child, text, ended } = longcall(around, ...args);
  child.stdin.end(stdin);
  return { code: await ended, ...text };
}

/** At a terminal: what is written to it is typed, both outputs are the screen. */
export function atTerminal(around: Surroundings, ...args: readonly string[]) {
  const quoted = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ');
  // `exec`: a shell that stays in between, as dash does, dies of the Ctrl-C and hides our exit code.
  const { child, text, ended } = start(around, 'script', ['-qfec', `exec ${quoted}`, '/dev/null']);
  const shows = (words: string) => until(words, () => (text.stdout.includes(words) ? true : undefined));
  return { type: (keys: string) => child.stdin.write(keys), screen: text, ended, shows };
}
