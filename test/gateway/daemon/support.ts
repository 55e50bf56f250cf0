import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { identify, isAlive, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import { systemClock, systemRandom } from '../../../src/core/index.ts';
import { type FrontOptions, runFront } from '../../../src/gateway/daemon/front.ts';
import type { Hello } from '../../../src/gateway/daemon/hello.ts';
import { type DaemonRecord, readRecord } from '../../../src/gateway/daemon/record.ts';
import { until } from '../../integration/processes.ts';
import { LinePeer } from '../../support/line-peer.ts';
import { scratchFolder } from '../../support/stores.ts';
import type { WireValidator } from '../../support/wire-validator.ts';

const tsx = import.meta.resolve('tsx');
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const options = { clock: systemClock, random: systemRandom };

export function aHello(name = 'one', env: Record<string, string> = {}): Hello {
  return {
    spec: { target: { command: name, args: [], env }, policy: {}, tools: [] },
    folder: process.cwd(),
  };
}

/** A place for a daemon. What was started in it is killed when the test ends. */
export interface Place {
  folder: string;
  /** What daemons have noted, in order: each process, who came up, what was served. */
  notes(what?: string): string[];
  record(): DaemonRecord;
  options(more?: { version?: string; idleMs?: number }): Pick<FrontOptions, 'folder' | 'version' | 'command' | 'env'>;
}

export function aPlace(): Place {
  const scratch = scratchFolder();
  const folder = join(scratch.path, 'state');
  const notes: Place['notes'] = (what = '') => {
    const file = `${folder}.notes`;
    const all = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    return all.filter((line) => line.startsWith(what));
  };
  onTestFinished(async () => {
    for (const line of notes('pid ')) await killed(Number(line.slice(4)));
    const left = readRecord(folder); // Of a daemon that notes nothing.
    if (left?.process !== undefined && isAlive(left.process)) await killed(left.pid);
    scratch.remove();
  });
  return {
    folder,
    notes,
    record: () => {
      const record = readRecord(folder);
      if (record === undefined) throw new Error('no daemon listens');
      return record;
    },
    options({ version = '1.0.0', idleMs = 300_000 } = {}) {
      const args = ['--import', tsx, here('daemon-process.ts'), folder, version, String(idleMs)];
      return { folder, version, command: { file: process.execPath, args }, env: process.env };
    },
  };
}

/** Ends a process as a power cut would, and waits until nothing is left of it. */
export async function killed(pid: number): Promise<void> {
  const identity = identify(pid);
  if (identity === undefined) return;
  process.kill(pid, 'SIGKILL');
  await gone(identity);
}

export function gone(identity: ProcessIdentity): Promise<true> {
  return until(`process ${identity.pid} is gone`, () => (isAlive(identity) ? undefined : true));
}

/** A front in this process, as a host sees it. */
export interface HereFront {
  peer: LinePeer;
  /** As a host that closes stdin. */
  hangUp(): void;
  /** Resolves when it has ended; rejects when it could not go on. */
  ended: Promise<void>;
}

export function frontHere(
  place: Pick<FrontOptions, 'folder' | 'version' | 'command' | 'env'>,
  validator: WireValidator,
  hello: Hello = aHello(),
): HereFront {
  const input = new PassThrough();
  const output = new PassThrough();
  const ended = runFront({ ...options, ...place, hello, input, output });
  ended.catch(() => {}); // Tests look.
  onTestFinished(() => {
    input.end();
    return ended.catch(() => {});
  });
  return { peer: new LinePeer({ input: output, output: input }, validator), hangUp: () => input.end(), ended };
}

/** A front of its own process, and group, as hosts start it. */
export interface FarFront {
  child: ChildProcess;
  peer: LinePeer;
  stderr(): string;
  ended: Promise<number | string>;
}

export function frontArguments(place: object, hello: Hello = aHello()): string[] {
  return ['--import', tsx, here('front-process.ts'), JSON.stringify({ ...place, hello })];
}

export function frontThere(
  place: Pick<FrontOptions, 'folder' | 'version' | 'env'> & Partial<Pick<FrontOptions, 'command'>>,
  validator: WireValidator,
  hello: Hello = aHello(),
): FarFront {
  const child = spawn(process.execPath, frontArguments(place, hello), {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'gone'));
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const peer = new LinePeer({ input: child.stdout, output: child.stdin }, validator);
  return { child, peer, stderr: () => stderr, ended };
}
