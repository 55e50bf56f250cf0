import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTaskClient } from 'longcall/client';
import { type Place, transports } from '../support/on-each-transport.ts';

const longcall = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const server = fileURLToPath(new URL('server.ts', import.meta.url));
const behind = ['--tool', 'formats=direct', '--', process.execPath, '--import', import.meta.resolve('tsx'), server];

for (const transport of transports()) {
  console.log(`over ${transport}`);
  const folder = mkdtempSync(join(tmpdir(), 'longcall-example-'));
  const state = ['--state', join(folder, 'state')];
  if (transport === 'stdio') {
    // What a host has in its file. The process that it starts is a thin front: a daemon does the work.
    const place = { command: process.execPath, args: [longcall, 'wrap', ...state, ...behind], env: {} };
    await hosts(folder, place);
    execFileSync(process.execPath, [longcall, 'daemon', 'stop', ...state], { stdio: 'ignore' });
  } else {
    const args = [longcall, 'wrap', '--listen', '127.0.0.1:0', ...state, ...behind];
    const gateway = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(gateway.stdout, 'data')) as [Buffer];
    const [url = ''] = /http:\S+(?=;)/.exec(String(line)) ?? [];
    await hosts(folder, { url });
    gateway.kill('SIGTERM');
    await once(gateway, 'exit');
  }
  rmSync(folder, { recursive: true });
}

/** One host begins, and is gone; another one, later, has the result. */
async function hosts(folder: string, place: Place): Promise<void> {
  const journal = join(folder, 'host.db');
  {
    await using host = await openTaskClient({ journal });
    const studio = await host.connect('studio', place);
    const call = await studio.callTool({ name: 'render', arguments: { frames: 48 } });
    for await (const { phase } of call.updates()) if (phase === 'following') break;
    console.log('  a call of a server without tasks is a task; its host is gone');
  }
  await using host = await openTaskClient({ journal });
  const studio = await host.connect('studio', place);
  const [call] = await host.calls();
  assert(call);
  console.log(`  another host has its result: ${textOf(await call.result())}`);
  const formats = await studio.callTool({ name: 'formats' });
  console.log(`  a quick one is passed through: ${textOf(await formats.result())}`);
}

function textOf(result: object): string {
  const { content } = result as { content: [{ text: string }] };
  return content[0].text;
}
