import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { JobFiles } from './job-files.ts';
import type { RunnerOrder, RunnerWord } from './runner/order.ts';

/** The built file, as far up from sources as from built files. */
const RUNNER = fileURLToPath(new URL('../../../dist/adapters/shell/runner/main.js', import.meta.url));
/** What Node itself needs on some systems. What a command gets is in its order. */
const NEEDED = ['PATH', 'SYSTEMROOT', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'LD_LIBRARY_PATH'];
const MAX_WORDS = 2_000;

class RunnerEnded extends Error {}

/**
 * Starts a runner, which goes on whatever becomes of this process. Resolves when it is certain to be the job's, or another one is.
 * @throws {Error} with `mayHaveStarted: false` when no command was started
 */
export async function startRunner(files: JobFiles, order: RunnerOrder): Promise<void> {
  const errors = openSync(files.path('runner.err'), 'a', 0o600);
  try {
    const env = Object.fromEntries(
      NEEDED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
    );
    const runner = spawn(process.execPath, [RUNNER, files.folder], {
      detached: true,
      stdio: ['pipe', 'pipe', errors],
      env,
      cwd: dirname(files.folder),
      windowsHide: true,
    }) as ChildProcessByStdio<Writable, Readable, null>;
    const word = new Promise<RunnerWord>((resolve, reject) => {
      let said = '';
      runner.once('error', reject);
      runner.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString('utf8');
        if (said.endsWith('\n')) resolve(said.trim() as RunnerWord);
      });
      runner.once('close', (code, signal) => reject(new RunnerEnded(`the runner ended (${code ?? signal})`)));
    });
    runner.stdin.on('error', () => {}); // Told by its end.
    runner.stdin.end(JSON.stringify(order));
    await word;
    runner.stdout.destroy();
    runner.unref();
  } catch (error) {
    if (error instanceof RunnerEnded) error.message += `: ${wordsIn(files)}`;
    throw Object.assign(error as Error, { mayHaveStarted: files.runner !== undefined });
  } finally {
    closeSync(errors);
  }
}

function wordsIn(files: JobFiles): string {
  return readFileSync(files.path('runner.err'), 'utf8').slice(-MAX_WORDS).trim();
}
