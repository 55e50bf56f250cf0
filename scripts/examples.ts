// Runs every example on both transports, or each of its variants, in a process of its own, and says which ones hold. What an
// example prints and the code its README shows are compared with the README, which says "prints exactly this".
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const GIVE_UP_MS = 60_000;

// The demo has a command and a CI phase of its own; folders without a run.ts are no examples.
const names = readdirSync('examples').filter((name) => existsSync(`examples/${name}/run.ts`));

let passed = 0;
let failed = names.length === 0 ? 1 : 0; // Finding nothing must not look like success.
for (const name of names) {
  const variants = variantsOf(name);
  const ways =
    variants.length === 0 ? ['--transport http', '--transport stdio'] : variants.map((v) => `--variant ${v}`);
  const shown =
    variants.length === 0
      ? ['server.ts', 'run.ts', ...clientOf(name)]
      : ['tasks.ts', ...variants.map((v) => `${v}/server.ts`)];
  for (const way of ways) {
    const started = performance.now();
    const problem = run(name, way, shown);
    const took = `${Math.round(performance.now() - started)} ms`;
    console.log(`${problem === undefined ? 'ok    ' : 'FAILED'} ${name} ${way}, ${took}`);
    if (problem !== undefined) console.log(problem.replace(/^/gm, '       '));
    if (problem === undefined) passed += 1;
    else failed += 1;
  }
}
console.log(`examples: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** The client of an example, where that is a process of its own. */
function clientOf(name: string): string[] {
  return existsSync(`examples/${name}/client.ts`) ? ['client.ts'] : [];
}

/** The folders of an example that has a server in each of them, and none of its own. */
function variantsOf(name: string): string[] {
  return readdirSync(`examples/${name}`).filter((folder) => existsSync(`examples/${name}/${folder}/server.ts`));
}

/** What is wrong with an example; nothing, if all is well. */
function run(name: string, way: string, shown: readonly string[]): string | undefined {
  const args = ['--import', import.meta.resolve('tsx'), `examples/${name}/run.ts`, ...way.split(' ')];
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: GIVE_UP_MS,
  });
  if (status !== 0) return `${stdout}${stderr}${error?.message ?? `exit code ${status}`}`;
  const readme = readFileSync(`examples/${name}/README.md`, 'utf8');
  for (const file of shown) {
    const code = readFileSync(`examples/${name}/${file}`, 'utf8');
    if (!readme.includes(`\`\`\`ts\n${code}\`\`\``)) return `README.md does not show ${file} as it is`;
  }
  const stray = stdout.split('\n').find((line) => !readme.includes(`${line}\n`));
  return stray === undefined ? undefined : `README.md does not have this line of the output: ${stray}`;
}
