import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTaskClient } from 'longcall/client';
import { type Place, serving, transports } from '../support/on-each-transport.ts';

const PICTURES = 200;
const AT_ONCE = 16;

for (const transport of transports()) {
  console.log(`over ${transport}`);
  const folder = mkdtempSync(join(tmpdir(), 'longcall-example-'));
  const env = { TASKS_DB: join(folder, 'tasks.db') };
  await serving(transport, new URL('server.ts', import.meta.url), env, (place) =>
    batch(join(folder, 'host.db'), place),
  );
  rmSync(folder, { recursive: true });
}

async function batch(journal: string, place: Place): Promise<void> {
  await using client = await openTaskClient({ journal });
  const server = await client.connect('pictures', place);
  const calls = Array.from({ length: PICTURES }, (_, picture) => ({
    server,
    name: 'thumbnail',
    arguments: { picture },
  }));
  const group = await client.callAll(calls, { concurrency: AT_ONCE });
  for await (const { total, completed, failed, running } of group.updates()) {
    assert(running <= AT_ONCE);
    // One line, written over and over; nothing is to be seen of it where the output is a file.
    if (process.stdout.isTTY) process.stdout.write(`\r  ${completed + failed} of ${total}`);
  }
  const { total, completed, failed } = await group.progress();
  console.log(`${process.stdout.isTTY ? '\r' : ''}  ${total} pictures: ${completed} small, ${failed} broken`);
  assert.deepEqual([total, completed, failed], [200, 195, 5]);
  await group.acknowledge();
}
