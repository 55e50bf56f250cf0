import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTaskClient } from 'longcall/client';
import { type Place, serving, transports } from '../support/on-each-transport.ts';
import { clockAhead } from './clock.ts';

const server = new URL('server.ts', import.meta.url);
const abilities = { form: true }; // Somebody can be asked, if not right now.
const HOURS = 3_600_000;

for (const transport of transports()) {
  console.log(`over ${transport}`);
  const folder = mkdtempSync(join(tmpdir(), 'longcall-example-'));
  const journal = join(folder, 'host.db');
  const env = (aheadMs: number) => ({ TASKS_DB: join(folder, 'tasks.db'), AHEAD_MS: String(aheadMs) });
  await serving(transport, server, env(0), (place) => today(journal, place));
  await serving(transport, server, env(20 * HOURS), (place) => tomorrow(journal, place, 20 * HOURS));
  rmSync(folder, { recursive: true });
}

/** The tool asks, and nobody is there to answer. Host and server end. */
async function today(journal: string, place: Place): Promise<void> {
  await using client = await openTaskClient({ journal });
  const shop = await client.connect('shop', { ...place, abilities });
  const call = await shop.callTool({ name: 'refund', arguments: { order: 'A-7' } });
  for await (const { questions } of call.updates()) {
    if (questions === undefined) continue;
    console.log(`  today: ${Object.keys(questions)} is asked, everybody goes home`);
    return;
  }
}

/** Both are started again. The question is still open, and its answer reaches the same task. */
async function tomorrow(journal: string, place: Place, aheadMs: number): Promise<void> {
  await using client = await openTaskClient({ journal, clock: clockAhead(aheadMs) });
  await client.connect('shop', { ...place, abilities });
  const [call] = (await client.resume()).following;
  assert(call);
  for await (const { questions, createdAt } of call.updates()) {
    const question = questions?.approve;
    if (question?.kind !== 'form') continue;
    console.log(`  tomorrow: ${question.message} yes`);
    assert(Date.now() + aheadMs - createdAt >= aheadMs);
    await call.answer('approve', { action: 'accept', content: { by: 'Ada' } });
    break;
  }
  for await (const { tool, end, acknowledge } of client.inbox()) {
    assert(end.kind === 'completed');
    const [{ text }] = end.result.content as [{ text: string }];
    console.log(`  ${tool}: ${text}`);
    assert.equal(text, 'A-7: 120 EUR paid back, approved by Ada');
    await acknowledge();
    return;
  }
}
