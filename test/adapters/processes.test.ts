import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endFamily, familyOf } from '../../src/adapters/processes/process-family.ts';
import { identify, isAlive, type ProcessIdentity } from '../../src/adapters/processes/process-table.ts';
import { systemClock } from '../../src/core/index.ts';

// Real processes in sessions of their own. On Linux all is known of them; elsewhere some of this is best effort.

interface Started {
  child: ChildProcess;
  identity: ProcessIdentity;
  /** The processes that it says it started. */
  children: ProcessIdentity[];
}

/** Says its number once it is all that it is to be. */
const FOREVER = 'console.log(process.pid); setInterval(() => {}, 1000);';
const STUBBORN = `process.on('SIGTERM', () => {}); ${FOREVER}`;
const parentOf = (child: string, detached = false): string => `
  const { spawn } = require('node:child_process');
  const options = { stdio: ['ignore', 'inherit', 'ignore'], detached: ${detached} };
  spawn(process.execPath, ['-e', ${JSON.stringify(child)}], options).unref();
  ${FOREVER}`;

async function start(program: string, { children: count }: { children: number }): Promise<Started> {
  const child = spawn(process.execPath, ['-e', program], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const identity = identify(child.pid as number) as ProcessIdentity;
  onTestFinished(async () => {
    await endFamily(identity, { clock: systemClock, termGraceMs: 0, known: children });
  });
  const children: ProcessIdentity[] = [];
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    if (Number(line) !== identity.pid) children.push(identify(Number(line)) as ProcessIdentity);
    if (children.length === count) break;
  }
  return { child, identity, children };
}

describe.skipIf(process.platform === 'win32')('a family of processes', () => {
  it('is whoever is in the session of its leader, and their children in sessions of their own', async () => {
    const { identity, children } = await start(parentOf(parentOf(FOREVER, true)), { children: 2 });
    const family = familyOf(identity).map(({ pid }) => pid);
    expect(family.sort()).toEqual([identity, ...children].map(({ pid }) => pid).sort());
    const end = await endFamily(identity, { clock: systemClock, termGraceMs: 5_000 });
    expect(end).toEqual({ killed: 0, left: [] });
    expect([identity, ...children].filter(isAlive)).toEqual([]);
  });

  it('is killed where it does not heed SIGTERM, and found without its leader [C-102]', async () => {
    const { child, identity, children } = await start(parentOf(STUBBORN), { children: 1 });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(familyOf(identity)).toEqual(children);
    expect(await endFamily(identity, { clock: systemClock, termGraceMs: 100 })).toEqual({ killed: 1, left: [] });
    expect(children.filter(isAlive)).toEqual([]);
  });

  it('is not whoever has the number of its leader now [C-103]', async () => {
    const { child, identity } = await start(FOREVER, { children: 0 });
    const strangers = [
      { ...identity, started: `${Number(identity.started) - 1}` },
      { ...identity, boot: 'another' },
      { ...identity, namespace: 'pid:[1]' },
    ];
    for (const stranger of strangers) {
      expect(isAlive(stranger)).toBe(false);
      expect(familyOf(stranger)).toEqual([]);
      expect(await endFamily(stranger, { clock: systemClock, termGraceMs: 100 })).toEqual({ killed: 0, left: [] });
    }
    expect(isAlive(identity)).toBe(true);
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });
});
