import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endFamily } from '../../../src/adapters/processes/process-family.ts';
import { identify, isAlive, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import type { Started } from '../../../src/client/remote.ts';
import { systemClock } from '../../../src/core/index.ts';
import { ProcessNotes } from '../../../src/gateway/upstreams/orphans.ts';
import { scratchFolder, silent } from '../../support/stores.ts';
import { FIXTURE } from './support.ts';

function someFolder(): string {
  const folder = scratchFolder();
  onTestFinished(folder.remove);
  return folder.path;
}

const notesIn = (folder: string): ProcessNotes => new ProcessNotes(folder, { clock: systemClock, logger: silent });
const files = (folder: string): string[] => readdirSync(join(folder, 'upstreams'));

/** A process of its own with one upstream, and all processes of that. */
async function gateway(folder: string, ...flags: string[]): Promise<{ host: ChildProcess; family: ProcessIdentity[] }> {
  const program = join(import.meta.dirname, 'upstreams-process.ts');
  const host = spawn(process.execPath, ['--import', 'tsx', program, folder, FIXTURE, ...flags], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [leader] = (await once(host, 'message')) as [ProcessIdentity];
  onTestFinished(async () => {
    host.kill('SIGKILL');
    await endFamily(leader, { clock: systemClock, termGraceMs: 0 });
  });
  const [started] = (await once(host, 'message')) as [Started];
  const text = JSON.stringify(started).match(/"text":"([\d ]*)"/)?.[1] ?? '';
  return { host, family: [leader, ...text.split(' ').flatMap((pid) => identify(Number(pid)) ?? [])] };
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe.skipIf(process.platform !== 'linux')('upstreams of a gateway that was killed', () => {
  it('that do not heed the end of their input are ended by the next start, with all they started [C-102] [C-106]', async () => {
    const folder = someFolder();
    const flags = ['--child', '--ignore-stdin-end', '--ignore-sigterm'];
    const { host, family } = await gateway(folder, ...flags);
    expect(family).toHaveLength(2);
    await killed(host);
    expect(family.filter(isAlive)).toEqual(family); // They would be there for ever.

    const { ended, left } = await notesIn(folder).endOrphans();
    expect([...ended].sort()).toEqual(family.map(({ pid }) => pid).sort());
    expect(left).toEqual([]);
    expect(family.filter(isAlive)).toEqual([]);
    expect(files(folder)).toEqual([]);
  });

  it('are ended too where only what they started is left [C-102]', async () => {
    const folder = someFolder();
    const { host, family } = await gateway(folder, '--child', '--ignore-stdin-end');
    await killed(host);
    const [leader, child] = family as [ProcessIdentity, ProcessIdentity];
    process.kill(leader.pid, 'SIGKILL');
    expect((await notesIn(folder).endOrphans()).ended).toContain(child.pid);
    expect(family.filter(isAlive)).toEqual([]);
  });

  it('are left alone while their gateway lives', async () => {
    const folder = someFolder();
    const { family } = await gateway(folder, '--ignore-stdin-end');
    expect(await notesIn(folder).endOrphans()).toEqual({ ended: [], left: [] });
    expect(family.filter(isAlive)).toEqual(family);
    expect(files(folder)).toHaveLength(1);
  });

  it('are told from whoever has their numbers by now [C-103]', async () => {
    const folder = someFolder();
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      detached: true,
      stdio: 'ignore',
    });
    onTestFinished(() => killed(stranger));
    const identity = identify(stranger.pid as number) as ProcessIdentity;
    const dead = { ...(identify(process.pid) as ProcessIdentity), started: '1' };
    const notes: Record<string, unknown> = {
      'another-start': { upstream: { ...identity, started: `${Number(identity.started) - 1}` }, gateway: dead },
      'another-boot': { upstream: { ...identity, boot: 'before' }, gateway: { ...dead, boot: 'before' } },
      'of-init': { upstream: { ...identity, pid: 1 }, gateway: dead },
      unreadable: 'half a no',
    };
    mkdirSync(join(folder, 'upstreams'));
    for (const [name, note] of Object.entries(notes)) {
      writeFileSync(join(folder, 'upstreams', `${name}.json`), JSON.stringify(note));
    }
    expect(await notesIn(folder).endOrphans()).toEqual({ ended: [], left: [] });
    expect(isAlive(identity)).toBe(true);
    expect(files(folder)).toEqual([]); // Nobody is to look at them again.
  });
});

describe.skipIf(process.platform !== 'linux')('the notes of processes', () => {
  it('are for nobody else to read, say nothing of what was started, and are struck out with its end', () => {
    const folder = someFolder();
    const identity = identify(process.pid) as ProcessIdentity;
    const forget = notesIn(folder).add(identity);
    const [file] = files(folder) as [string];
    const path = join(folder, 'upstreams', file);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'upstreams')).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ upstream: identity, gateway: identity });
    forget();
    expect(files(folder)).toEqual([]);
  });

  it('of a folder without any end nothing', async () => {
    expect(await notesIn(join(someFolder(), 'none')).endOrphans()).toEqual({ ended: [], left: [] });
  });
});
