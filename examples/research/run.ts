import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openTaskClient } from 'longcall/client';
import { nodeArgs, onEachTransport } from '../support/on-each-transport.ts';
import { type Where, where } from '../support/where.ts';

await onEachTransport(
  new URL('server.ts', import.meta.url),
  async ({ target }: Where) => {
    const folder = mkdtempSync(join(tmpdir(), 'longcall-research-'));
    try {
      const first = await host(folder, target, 'I know 2 of 5 things.');
      assert.equal(first.at(0), 'I know 0 of 5 things.');
      console.log('  killed, and started again');
      const second = await host(folder, target);
      assert.equal(second.at(-1), 'A report on tides, currents, salt, storms, ice.');
      await usingJournal(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  where,
);

/** Runs the agent, and kills it as soon as it says `last`. Returns what it said. */
async function host(folder: string, target: object, last?: string): Promise<string[]> {
  const args = [...nodeArgs(new URL('client.ts', import.meta.url)), folder, JSON.stringify(target)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    console.log(`  ${line}`);
    if (line === last) child.kill('SIGKILL');
  }
  const [code] = await exited;
  assert.equal(code, last === undefined ? 0 : null);
  return said;
}

/** Five calls were made, not one twice, and nothing is left to tell. */
async function usingJournal(folder: string): Promise<void> {
  await using client = await openTaskClient({ journal: join(folder, 'host.db') });
  const calls = await client.calls();
  assert.deepEqual(
    calls.map(({ state }) => state.end?.kind),
    Array(5).fill('completed'),
  );
  assert.deepEqual(await client.resume(), { following: [], waiting: [] });
  console.log(`  ${calls.length} calls in all`);
}
