// Builds dist, unless it already is what these sources give. Tests, examples and benchmarks start with this script, so
// it decides by content, not by time stamps: a deleted source or a damaged dist is noticed as well.
// Everything is printed to stderr: stdout belongs to the command that needed the build (`npm run bench -- --json`).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
process.chdir(root);

const inputs = ['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsdown.config.ts', 'scripts/build.ts'];
const stampFile = '.cache/build-stamp';

if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp()) build();

function build(): void {
  const started = Date.now();
  // Built beside dist and swapped in, so that whoever runs from dist meanwhile never sees half of it.
  const fresh = `.cache/build-${process.pid}/dist`;
  const stale = `.cache/build-${process.pid}/old`;
  rmSync(dirname(fresh), { recursive: true, force: true });
  mkdirSync(dirname(fresh), { recursive: true });
  try {
    const tsdown = join(dirname(createRequire(import.meta.url).resolve('tsdown/package.json')), 'dist/run.mjs');
    const run = spawnSync(process.execPath, [tsdown, '--out-dir', fresh], { encoding: 'utf8' });
    if (run.status !== 0) {
      console.error(`${run.stdout}${run.stderr}build: FAILED`); // A build that works has nothing to tell.
      process.exitCode = 1;
      return;
    }
    if (existsSync('dist')) renameSync('dist', stale);
    renameSync(fresh, 'dist');
    writeFileSync(stampFile, stamp());
    console.error(`build: ok, ${((Date.now() - started) / 1000).toFixed(1)} s`);
  } finally {
    rmSync(dirname(fresh), { recursive: true, force: true });
  }
}

/** One hash over what goes into the build and what came out of it. */
function stamp(): string {
  const hash = createHash('sha256');
  for (const file of [...inputs, 'dist'].flatMap(filesUnder)) {
    hash.update(`${file}\0${createHash('sha256').update(readFileSync(file)).digest('hex')}\0`);
  }
  return hash.digest('hex');
}

function filesUnder(path: string): string[] {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile())
    .sort();
}
