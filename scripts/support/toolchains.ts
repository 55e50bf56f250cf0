// Programs in other languages that are no part of the project, in exact versions: fetched and built when they are first needed,
// and kept under `.cache`. Each asks for a toolchain that may well be absent.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ended, track } from './children.ts';
import { NotInstallableError } from './installed.ts';

/** No installation or build takes longer, in milliseconds. */
const PATIENCE_MS = 600_000;

/** What was begun is not begun again, and what did not succeed is not tried again. */
const begun = new Map<string, Promise<string>>();

function once(what: string, make: () => Promise<string>): Promise<string> {
  const before = begun.get(what);
  if (before !== undefined) return before;
  const made = make();
  made.catch(() => {}); // Whoever asked hears of it.
  begun.set(what, made);
  return made;
}

/**
 * A Python with packages, in an environment of its own.
 * @param packages exact: `name==version`
 * @returns where its `python` is
 * @throws {NotInstallableError} saying why not
 */
export function pythonWith(packages: readonly string[], cache: string): Promise<string> {
  const folder = join(cache, `python-${packages.join('-').replaceAll('==', '-')}`);
  const python = join('bin', 'python');
  return once(folder, async () => {
    if (existsSync(folder)) return join(folder, python);
    // Beside, and moved when complete: an installation that was interrupted must not pass for one.
    const fresh = `${folder}.${process.pid}`;
    try {
      await mkdir(cache, { recursive: true });
      await run('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10) and "needs Python 3.10")']);
      await run('python3', ['-m', 'venv', fresh]);
      const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary', ':all:'];
      await run(join(fresh, python), ['-m', 'pip', 'install', ...flags, ...packages]);
      await rename(fresh, folder);
      return join(folder, python);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  });
}

/**
 * What a folder with a `go.mod` builds. Go itself knows what is still up to date.
 * @throws {NotInstallableError} saying why not
 */
export function builtByGo(source: string, program: string): Promise<string> {
  const flags = ['-C', source, 'build', '-mod=readonly', '-trimpath', '-ldflags=-s -w', '-o', program, '.'];
  return once(program, () => run('go', flags, { GOTOOLCHAIN: 'local', GOWORK: 'off' }).then(() => program));
}

/**
 * What a folder with a `Cargo.lock` builds. Cargo itself knows what is still up to date.
 * @param name of the binary
 * @throws {NotInstallableError} saying why not
 */
export function builtByCargo(source: string, name: string, target: string): Promise<string> {
  const flags = ['build', '--quiet', '--locked', '--manifest-path', join(source, 'Cargo.toml'), '--target-dir', target];
  const program = join(target, 'debug', name);
  return once(program, () => run('cargo', flags).then(() => program));
}

async function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const child = track(spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } }));
  // It may run beside something whose time is taken.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const absent = new Promise<never>((_, reject) => {
    child.once('error', () => reject(new NotInstallableError(`${command} is not there`)));
  });
  const [status, errors] = await Promise.race([Promise.all([ended(child, PATIENCE_MS), text(child.stderr)]), absent]);
  if (status === 0) return;
  console.log(errors);
  const said = errors.trimEnd().split('\n').at(-1);
  throw new NotInstallableError(
    `${command} ${args[0]} failed, and the first run needs the package registries: ${said}`,
  );
}
