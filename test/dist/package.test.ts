import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// The tarball as a user gets it: installed in a folder of its own, where only what package.json declares is in reach.
const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

/** What a subpath needs beside our own dependencies. */
const peerOf = {
  'longcall/server': '@modelcontextprotocol/server',
  'longcall/server/sdk-v1': '@modelcontextprotocol/sdk',
  'longcall/client': '@modelcontextprotocol/client',
  'longcall/client/ai-sdk': 'ai',
};

describe('the packed package', () => {
  let home: string;
  let installed: string;
  let files: string[];

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'longcall-dist-'));
    installed = join(home, 'node_modules/longcall');
    mkdirSync(installed, { recursive: true });
    run('npm', ['pack', root, '--ignore-scripts', '--pack-destination', home], home);
    const tarball = readdirSync(home).find((name) => name.endsWith('.tgz')) ?? '';
    run('tar', ['-xzf', join(home, tarball), '-C', installed, '--strip-components=1'], home);
    files = readdirSync(installed, { recursive: true, withFileTypes: true, encoding: 'utf8' })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    writeFileSync(join(home, 'package.json'), '{ "type": "module", "private": true }');
    for (const name of Object.keys(manifest.dependencies)) install(name);
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  it('holds the built files and the papers, nothing else', () => {
    const odd = files
      .map((file) => file.slice(installed.length + 1).replaceAll('\\', '/'))
      .filter(
        (file) =>
          !/^(dist\/.+\.(js|d\.ts)|package\.json|README\.md|CHANGELOG\.md|LICENSE|schema\/longcall\.schema\.json)$/.test(
            file,
          ),
      );
    expect(odd).toEqual([]);
  });

  it('tells nothing about the machine that built it', () => {
    expect(files.filter((file) => readFileSync(file, 'utf8').includes(root))).toEqual([]);
  });

  it('works without the optional peers, except for the subpaths that need them', () => {
    expect(load('longcall')).toMatchObject({ status: 0, stderr: '' });
    expect(load('longcall/testing')).toMatchObject({ status: 0, stderr: '' });
    for (const [subpath, name] of Object.entries(peerOf)) {
      const server = load(subpath);
      expect(server.status).not.toBe(0);
      expect(server.stderr).toContain(`Cannot find package '${name}'`);
    }
  });

  it('has a command', () => {
    const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
    const main = join(installed, 'dist/cli/main.js');
    expect(spawn(process.execPath, [main, '--version'], home)).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it.each(Object.entries(peerOf))('serves by %s once %s is there, and needs no other', (subpath, name) => {
    for (const other of Object.keys(manifest.peerDependencies)) uninstall(other);
    install(name);
    expect(load(subpath)).toMatchObject({ status: 0, stderr: '' });
  });

  // No skipLibCheck: our declarations must hold for users who have none of our development types.
  // With the types of both SDKs to check, a busy machine takes its time.
  it('has types that compile in a strict project', { timeout: 120_000 }, () => {
    for (const name of [...Object.keys(manifest.peerDependencies), '@types/node']) install(name);
    // Not `longcall/client/ai-sdk`: the types of the AI SDK itself do not hold up to that.
    const subpaths = ['longcall', 'longcall/server', 'longcall/server/sdk-v1', 'longcall/client', 'longcall/testing'];
    writeFileSync(join(home, 'use.ts'), subpaths.map((path, n) => `export * as all${n} from '${path}';\n`).join(''));
    const compilerOptions = { module: 'nodenext', target: 'es2022', types: ['node'], strict: true, noEmit: true };
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
    expect(spawn(process.execPath, [tsc, '-p', home], home)).toMatchObject({ status: 0, stdout: '' });
  });

  function install(name: string): void {
    const link = join(home, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { recursive: true, force: true });
    symlinkSync(join(root, 'node_modules', name), link, 'junction');
  }

  function uninstall(name: string): void {
    rmSync(join(home, 'node_modules', name), { recursive: true, force: true });
  }

  function load(subpath: string): ReturnType<typeof spawn> {
    return spawn(process.execPath, ['--input-type=module', '-e', `await import('${subpath}');`], home);
  }
});

function spawn(
  command: string,
  args: string[],
  cwd: string,
): { status: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function run(command: string, args: string[], cwd: string): void {
  const { status, stdout, stderr } = spawn(command, args, cwd);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stdout}${stderr}`);
}
