// Programs in other languages that are no part of the project. Each asks for a toolchain that may well be absent.
import { join } from 'node:path';
import { failureOf, filled, NotInstallableError, once } from './fetched.ts';

/**
 * A Python with packages, in an environment of its own.
 * @param packages exact: `name==version`
 * @returns where its `python` is
 * @throws {NotInstallableError} saying why not
 */
export async function pythonWith(packages: readonly string[], cache: string): Promise<string> {
  const folder = join(cache, `python-${packages.join('-').replaceAll('==', '-')}`);
  const python = join('bin', 'python');
  await filled(folder, async (fresh) => {
    await run('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 10) and "needs Python 3.10")']);
    await run('python3', ['-m', 'venv', fresh]);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--only-binary', ':all:'];
    await run(join(fresh, python), ['-m', 'pip', 'install', ...flags, ...packages]);
  });
  return join(folder, python);
}

/**
 * What a folder with a `go.mod` builds. Go itself knows what is still up to date.
 * @throws {NotInstallableError} saying why not
 */
export async function builtByGo(source: string, program: string): Promise<string> {
  const flags = ['-C', source, 'build', '-mod=readonly', '-trimpath', '-ldflags=-s -w', '-o', program, '.'];
  await once(program, () => run('go', flags, { GOTOOLCHAIN: 'local', GOWORK: 'off' }));
  return program;
}

/**
 * What a folder with a `Cargo.lock` builds. Cargo itself knows what is still up to date.
 * @param name of the binary
 * @throws {NotInstallableError} saying why not
 */
export async function builtByCargo(source: string, name: string, target: string): Promise<string> {
  const flags = ['build', '--quiet', '--locked', '--manifest-path', join(source, 'Cargo.toml'), '--target-dir', target];
  const program = join(target, 'debug', name);
  await once(program, () => run('cargo', flags));
  return program;
}

async function run(command: string, args: readonly string[], env?: Record<string, string>): Promise<void> {
  const errors = await failureOf(command, args, env);
  if (errors === undefined) return;
  const said = errors.trimEnd().split('\n').at(-1);
  throw new NotInstallableError(
    `${command} ${args[0]} failed, and the first run needs the package registries: ${said}`,
  );
}
