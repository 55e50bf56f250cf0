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
note({ start: process.pid });

const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
const changes = names
  .map((name) => ({ name, ...withoutVar(readFileSync(join(folder, name), 'utf8')) }))
  .filter(({ count }) => count > 0);
const done = new Set(noted.flatMap(({ file }) => file ?? []));
console.error(`scanned ${names.length} files, ${changes.length} to rewrite, ${done.size} rewritten before`);

const folders = noted.find((entry) => entry.folders)?.folders ?? ask();
const todo = changes.filter(({ name }) => folders.includes(dirname(name)));
const total = done.size + todo.length;
for (const { name, text, count } of todo) {
  const draft = join(folder, `${name}.draft.cjs`);
  writeFileSync(draft, text);
  execFileSync(process.execPath, ['--check', draft]); // What does not parse takes no file's place.
  renameSync(draft, join(folder, name));
  note({ file: name, count });
  done.add(name);
  console.error(`::progress ${done.size}/${total} ${name}`);
}
execFileSync(process.execPath, ['-e', 'require(process.argv[1])', folder]); // The package can still be loaded.
console.log(JSON.stringify({ rewritten: done.size, folders }));

/** Which folders to rewrite. The answer may take days. */
function ask() {
  const found = [...new Set(changes.map(({ name }) => dirname(name)))].sort();
  const declarations = changes.reduce((sum, { count }) => sum + count, 0);
  const properties = {
    rewrite: { type: 'boolean' },
    folders: { type: 'array', items: { type: 'string', enum: found } },
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
  const { content } = status === 0 ? JSON.parse(stdout) : {};
  if (!content?.rewrite) {
    console.log(JSON.stringify({ rewritten: 0, folders: [] }));
    process.exit(0);
  }
  const wanted = content.folders ?? found;
  note({ folders: wanted });
  return wanted;
}
