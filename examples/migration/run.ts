import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Call, openTaskClient } from 'longcall/client';
import { MortalServer } from '../support/mortal-server.ts';
import { nodeArgs } from '../support/on-each-transport.ts';
import { checkPackage, copyOfPackage, filesOf, notesOf, rewritten } from './package.ts';

const LONGCALL = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const folders = ['dist/compose', 'dist/nodes'];
const count = 21; // Files in them that have a `var`.

const home = mkdtempSync(join(tmpdir(), 'longcall-example-'));
process.once('exit', () => rmSync(home, { recursive: true, force: true }));

await using server = new MortalServer((port) => ({
  args: nodeArgs(new URL('server.ts', import.meta.url)),
  env: { TASKS_DB: join(home, 'tasks.db'), JOBS: join(home, 'jobs'), LONGCALL, PORT: String(port) },
}));
await server.start();
await using client = await openTaskClient({ journal: join(home, 'host.db') });
const migrations = await client.connect('migrations', { url: server.url });

console.log('the server is killed');
{
  const folder = copyOfPackage(join(home, 'server'));
  const call = await migrations.callTool({ name: 'migrate', arguments: { folder } });
  const key = await asked(call);
  await server.kill();
  console.log('  killed while it waits for the answer');
  await server.start();
  await call.answer(key, { action: 'accept', content: { rewrite: true, folders } });
  await rewritten(folder, 3);
  await server.kill();
  assert(filesOf(folder).length < count);
  console.log('  killed in the midst of rewriting');
  await rewritten(folder, count); // No server lives, and it goes on.
  await server.start();
  await ended(call, folder, 1);
}

for (const victim of ['command', 'runner'] as const) {
  console.log(`the ${victim} is killed`);
  const folder = copyOfPackage(join(home, victim));
  const call = await migrations.callTool({ name: 'migrate', arguments: { folder } });
  await call.answer(await asked(call), { action: 'accept', content: { rewrite: true, folders } });
  await rewritten(folder, 3);
  const [{ start = 0, parent = 0 } = {}] = notesOf(folder);
  process.kill(victim === 'command' ? start : parent, 'SIGKILL');
  assert(filesOf(folder).length < count);
  console.log('  killed in the midst of rewriting');
  await ended(call, folder, 2); // It asks no second time.
}

console.log('another language asks, by HTTP alone');
if (spawnSync('curl', ['--version']).error !== undefined) console.log('  there is no curl here: left out');
else {
  const call = await migrations.callTool({ name: 'publish' });
  await call.answer(await asked(call), { action: 'accept', content: {} });
  const { content } = await call.result();
  const [{ text }] = content as [{ text: string }];
  assert.equal(text, 'published');
  console.log(`  ${text}`);
}

async function asked(call: Call): Promise<string> {
  for await (const { questions = {} } of call.updates()) {
    const [[key, question] = []] = Object.entries(questions);
    if (key === undefined || question?.kind !== 'form') continue;
    console.log(`  it asks: ${question.message}`);
    return key;
  }
  throw new Error('it asked nothing');
}

async function ended(call: Call, folder: string, starts: number): Promise<void> {
  const { structuredContent } = await call.result();
  assert.deepEqual(structuredContent, { rewritten: count });
  assert.equal(notesOf(folder).filter(({ start }) => start !== undefined).length, starts);
  checkPackage(folder, { count, folders });
  const lines: string[] = [];
  for await (const { text } of call.log()) lines.push(text);
  assert.equal(lines.at(-1), JSON.stringify({ rewritten: count }));
  console.log(`  ${count} files are rewritten, each once; the command was started ${starts === 1 ? 'once' : 'twice'}`);
}
