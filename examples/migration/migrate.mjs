// A refactoring like any other: node migrate.mjs FOLDER. All it knows of Longcall is a command that asks. What is done stands in a
// file beside the folder, so it can be killed at any time and started again: it asks no second time, and goes on.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withoutVar } from './codemod.mjs';

const [folder] = process.argv.slice(2);
const ledger = `${folder}.migration`;
const noted = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n').map(JSON.parse) : [];
const note = (entry) => appendFileSync(ledger, `${JSON.stringify(entry)}\n`);
const migrated = (name) => withoutVar(readFileSync(join(folder, name), 'utf8'));

note({ start: process.pid, parent: process.ppid });
const plan = noted.find((entry) => entry.plan)?.plan ?? ask();
const done = new Set(noted.map(({ file }) => file));
for (const [at, name] of plan.entries()) {
  if (done.has(name)) continue;
  const { text, count } = migrated(name);
  if (count > 0) rewrite(name, text); // Else it was killed after it had rewritten the file, and before the next line.
  note({ file: name });
  console.error(`::progress ${at + 1}/${plan.length} ${name}`);
}
execFileSync(process.execPath, ['-e', 'require(process.argv[1])', folder]); // The package can still be loaded.
console.log(JSON.stringify({ rewritten: plan.length }));

/** What does not parse takes no file's place. */
function rewrite(name, text) {
  const draft = join(folder, `${name}.draft.cjs`);
  writeFileSync(draft, text);
  execFileSync(process.execPath, ['--check', draft]);
  renameSync(draft, join(folder, name));
}

/** Which files to rewrite. The answer may take days. */
function ask() {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
  const changes = names.map((name) => ({ name, ...migrated(name) })).filter(({ count }) => count > 0);
  const declarations = changes.reduce((sum, { count }) => sum + count, 0);
  const folders = [...new Set(changes.map(({ name }) => dirname(name)))].sort();
  const properties = {
    rewrite: { type: 'boolean' },
    folders: { type: 'array', items: { type: 'string', enum: folders } },
  };
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      ...[process.env.LONGCALL, 'ask', '--json'], // Elsewhere: npx longcall ask
      ...['--message', `Rewrite ${changes.length} files? The dry run says ${declarations} declarations`],
      ...['--schema', JSON.stringify({ type: 'object', properties, required: ['rewrite'] })],
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const { rewrite = false, folders: wanted = folders } = status === 0 ? JSON.parse(stdout).content : {};
  const plan = changes.map(({ name }) => name).filter((name) => rewrite && wanted.includes(dirname(name)));
  note({ plan });
  return plan;
}
