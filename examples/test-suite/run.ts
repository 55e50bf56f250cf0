import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openTaskClient } from 'longcall/client';
import { MortalServer } from '../support/mortal-server.ts';
import { byJournal, bySdkV1, byTools } from './clients.ts';
import { jobWith, processesOf, processesWith } from './processes.ts';

const LONGCALL = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const CONFIG = fileURLToPath(new URL('longcall.yaml', import.meta.url));
const FAILING = 'counts the legs of a spider';

const home = mkdtempSync(join(tmpdir(), 'longcall-example-'));
const gate = join(home, 'gate'); // The slow test waits for it.
process.once('exit', () => {
  for (const pid of processesWith(`GATE=${gate}`)) process.kill(pid, 'SIGKILL'); // Only where something went wrong.
  rmSync(home, { recursive: true, force: true });
});

await using server = new MortalServer((port) => ({
  args: [LONGCALL, 'serve', CONFIG, '--listen', `127.0.0.1:${port}`, '--state', join(home, 'state')],
  env: { GATE: gate },
}));
await server.start();
await using client = await openTaskClient({ journal: join(home, 'host.db') });

const modern = await byJournal(client, '2026-07-28', {}, server.url);
const sessions = await bySdkV1('2025-11-25', server.url);
const draft = await byJournal(client, 'SEP-1686', { protocol: '2025-06-18', firstDraft: true }, server.url);
const tools = await byTools('no tasks', server.url);

for (const run of [modern, sessions, draft, tools]) {
  await run.sees(FAILING);
  assert(await run.runs()); // The slow test is not done.
  console.log(`${run.wire}: sees in the log which test failed, while others run`);
}
await modern.progress(/\d+ passed, 1 failed/);
console.log(`${modern.wire}: is told how many passed and failed so far`);

const job = jobWith(`LABEL=${draft.wire}`);
assert(processesOf(job).length > 3);
await draft.cancel();
while (processesOf(job).length > 0) await setTimeout(50);
console.log(`${draft.wire}: is cancelled, and none of its processes is left`);

const others = [modern, sessions, tools];
await server.kill();
await server.start();
await server.kill();
for (const { wire } of others) assert(processesWith(`LABEL=${wire}`).length > 0);
console.log('the server is killed, started and killed again, and the tests run on');
writeFileSync(gate, ''); // The slow test is done.
for (const { wire } of others) while (processesWith(`LABEL=${wire}`).length > 0) await setTimeout(50);
console.log('they end while there is no server');

await server.start();
for (const run of others) {
  const result = await run.result();
  assert.match(result, /^exit code 1 after .+\n\d+ passed, 1 failed, /m);
  assert(result.includes(`failed: examples/test-suite/suite/failing.case.ts > ${FAILING}`));
  console.log(`${run.wire}: has the result`);
  await run.close();
}
