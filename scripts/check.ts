// `npm run check`: everything that can be said about the code without running its tests. Each step prints its time; only
// a step that fails prints what it had to say. The last line is `check: ok` or names the steps that failed.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const failed: string[] = [];

await step('biome', ['biome', 'check', '--error-on-warnings', '.']); // Format, lint, order of imports.
await step('build', ['tsx', 'scripts/build.ts']); // Before the types: tests and examples take theirs from dist.
await step('types', ['tsc', '--project', '.']);
await step('layering', ['vitest', 'run', 'test/layering.test.ts']);
await step('knip', ['knip', '--treat-config-hints-as-errors']); // Files, exports and dependencies that nobody uses.
await packageChecks();

console.log(failed.length === 0 ? 'check: ok' : `check: FAILED ${failed.join(' ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** What users will install is what is checked: the tarball, not the folder. */
async function packageChecks(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'longcall-pack-'));
  try {
    await step('pack', ['npm', 'pack', '--ignore-scripts', '--pack-destination', folder]);
    const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
    if (tarball === undefined) return;
    await step('publint', ['publint', 'run', '--strict', join(folder, tarball)]);
    await step('attw', ['attw', '--profile', 'esm-only', join(folder, tarball)]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function step(name: string, [command = '', ...args]: string[]): Promise<void> {
  const started = Date.now();
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}` },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const ok = await new Promise<boolean>((resolve) => {
    child.on('error', (error) => {
      output += `${error}\n`;
      resolve(false);
    });
    child.on('close', (status) => resolve(status === 0));
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1).padStart(6);
  console.log(`${name.padEnd(10)}${seconds} s  ${ok ? 'ok' : 'FAILED'}`);
  if (ok) return;
  failed.push(name);
  console.log(output);
}
