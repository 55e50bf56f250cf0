// Runs every example in a process of its own, on both transports where its README offers them, or each of its variants, and says
// which ones hold. What an example prints and the code its README shows are compared with the README.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const GIVE_UP_MS = 120_000; // Of an example that kills its server twice, on a busy machine.
/** How a README calls the language of a file. */
const FENCES: Record<string, string> = { '.ts': 'ts', '.mjs': 'js', '.sh': 'sh', '.yaml': 'yaml' };

// The demo has a command and a CI phase of its own; folders without a run.ts are no examples.
const wanted = process.argv.slice(2); // Names of some of them.
const names = readdirSync('examples')
  .filter((name) => existsSync(`examples/${name}/run.ts`))
  .filter((name) => wanted.length === 0 || wanted.includes(name));

let passed = 0;
let failed = names.length === 0 ? 1 : 0; // Finding nothing must not look like success.
for (const name of names) {
  for (const way of waysOf(name)) {
    const started = performance.now();
    const problem = run(name, way);
    const took = `${Math.round(performance.now() - started)} ms`;
    console.log(`${problem === undefined ? 'ok    ' : 'FAILED'} ${[name, ...way].join(' ')}, ${took}`);
    if (problem !== undefined) console.log(problem.replace(/^/gm, '       '));
    if (problem === undefined) passed += 1;
    else failed += 1;
  }
}
console.log(`examples: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** The arguments that an example is run with, each time others. */
function waysOf(name: string): string[][] {
  const variants = variantsOf(name);
  if (variants.length > 0) return variants.map((variant) => ['--variant', variant]);
  return readmeOf(name).includes('`--transport http`') ? ['http', 'stdio'].map((each) => ['--transport', each]) : [[]];
}

function readmeOf(name: string): string {
  return readFileSync(`examples/${name}/README.md`, 'utf8');
}

/** What a README has to show as it is: what makes up the example, but not what it only looks things up with. */
function shownOf(name: string): string[] {
  const variants = variantsOf(name);
  if (variants.length > 0) return ['tasks.ts', ...variants.map((variant) => `${variant}/server.ts`)];
  const others = ['server.ts', 'client.ts', 'migrate.mjs', 'publish.sh', 'longcall.yaml'];
  return ['run.ts', ...others.filter((file) => existsSync(`examples/${name}/${file}`))];
}

/** The folders of an example that has a server in each of them, and none of its own. */
function variantsOf(name: string): string[] {
  return readdirSync(`examples/${name}`).filter((folder) => existsSync(`examples/${name}/${folder}/server.ts`));
}

/** What is wrong with an example; nothing, if all is well. */
function run(name: string, way: readonly string[]): string | undefined {
  const args = ['--import', import.meta.resolve('tsx'), `examples/${name}/run.ts`, ...way];
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: GIVE_UP_MS,
  });
  if (status !== 0) return `${stdout}${stderr}${error?.message ?? `exit code ${status}`}`;
  const readme = readmeOf(name);
  for (const file of shownOf(name)) {
    const code = readFileSync(`examples/${name}/${file}`, 'utf8');
    if (!readme.includes(`\`\`\`${FENCES[extname(file)]}\n${code}\`\`\``))
      return `README.md does not show ${file} as it is`;
  }
  const stray = stdout.split('\n').find((line) => !readme.includes(`${line}\n`));
  return stray === undefined ? undefined : `README.md does not have this line of the output: ${stray}`;
}
