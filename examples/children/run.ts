import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Call, openTaskClient } from 'longcall/client';
import { type Place, serving, transports } from '../support/on-each-transport.ts';

const server = new URL('server.ts', import.meta.url);
const shop = new URL('shop.ts', import.meta.url);

for (const transport of transports()) {
  console.log(`over ${transport}`);
  const folder = mkdtempSync(join(tmpdir(), 'longcall-example-'));
  const file = (name: string): string => join(folder, name);
  await serving('http', shop, { TASKS_DB: file('shop.db'), WROTE: file('shop.txt') }, async (place) => {
    const env = { TASKS_DB: file('tasks.db'), JOURNAL: file('calls.db'), SHOP: (place as { url: string }).url };
    await serving(transport, server, env, (at) => begin(file('host.db'), at, file('shop.txt')));
    console.log('  the server is gone in the middle, and started again');
    await serving(transport, server, env, (at) => end(file('host.db'), at));
  });
  const made = readFileSync(file('shop.txt'), 'utf8').trim().split('\n').sort();
  assert.deepEqual(made, ['build linux', 'build macos', 'build windows', 'publish']);
  console.log(`  the shop was asked for: ${made.join(', ')}`);
  rmSync(folder, { recursive: true });
}

/** A task that has begun three builds elsewhere. */
async function begin(journal: string, place: Place, wrote: string): Promise<void> {
  await using client = await openTaskClient({ journal });
  const releases = await client.connect('releases', place);
  await releases.callTool({ name: 'release', arguments: { platforms: ['linux', 'macos', 'windows'] } });
  while (begun(wrote) < 3) await new Promise((resolve) => setTimeout(resolve, 50));
  console.log('  three builds have begun');
}

/** The task went on with the builds that it had begun. What it calls asks, and it passes the question on. */
async function end(journal: string, place: Place): Promise<void> {
  await using client = await openTaskClient({ journal });
  await client.connect('releases', place);
  const [call] = await client.calls();
  assert(call);
  await answer(call);
  const { content } = await call.result();
  const [{ text }] = content as [{ text: string }];
  console.log(`  ${text}`);
  assert.equal(text, '3 builds are published');
}

async function answer(call: Call): Promise<void> {
  for await (const { questions = {} } of call.updates()) {
    const [[key, question] = []] = Object.entries(questions);
    if (key === undefined || question?.kind !== 'form') continue;
    assert.match(question.message, /shop\/publish asks: Publish 3 builds\?$/);
    console.log(`  ${question.message.replace(/^.*, /, '')} yes`);
    await call.answer(key, { action: 'accept', content: { approved: true } });
    return;
  }
}

function begun(wrote: string): number {
  try {
    return readFileSync(wrote, 'utf8').trim().split('\n').length;
  } catch {
    return 0;
  }
}
