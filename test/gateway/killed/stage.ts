// A gateway as it is installed, in front of servers that write down what they do, in a folder of its own: what hosts start,
// what daemons come of it, and every process that has to be gone at the end.
import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { identify, isAlive, type ProcessIdentity } from '../../../src/adapters/processes/process-table.ts';
import { type DaemonRecord, readRecord } from '../../../src/gateway/daemon/record.ts';
import { type SupervisedStdio, supervisedStdio } from '../../../src/gateway/upstreams/supervised-stdio.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const run = promisify(execFile);

/** The command as it is installed: `npm run build` first. */
const LONGCALL = here('../../../dist/cli/main.js');

export type ServerName = 'plain' | 'durable';

/** What servers write down of themselves. */
export interface Entry {
  what: 'up' | 'began' | 'made' | 'has' | 'heard' | 'done';
  /** Milliseconds on the machine's monotonic clock. */
  at: number;
  server: ServerName;
  pid: number;
  /** By which the caller knows the call. */
  token?: string;
  tool?: string;
  key?: string;
  task?: string;
  value?: string;
}

export class Stage {
  readonly folder: string;
  readonly state: string;
  readonly #ledger: string;

  /** @param folder that is there already, and is somebody else's to remove */
  constructor(folder: string) {
    this.folder = folder;
    this.state = join(folder, 'state');
    this.#ledger = join(folder, 'ledger');
    appendFileSync(this.#ledger, '');
  }

  get entries(): Entry[] {
    const lines = readFileSync(this.#ledger, 'utf8').split('\n').slice(0, -1); // One may be half written.
    return lines.map((line) => JSON.parse(line) as Entry);
  }

  /** How often something was written down of a call. */
  count(what: Entry['what'], token: string): number {
    return this.entries.filter((entry) => entry.what === what && entry.token === token).length;
  }

  /** Resolves with what is written down, once it is. */
  async noted(what: Entry['what'], token: string): Promise<Entry> {
    for (;;) {
      const found = this.entries.find((entry) => entry.what === what && entry.token === token);
      if (found !== undefined) return found;
      await setTimeout(5);
    }
  }

  /** Lets a call end that was made with `ms: -1`. */
  go(token: string): void {
    writeFileSync(`${this.#ledger}.${token}.go`, '');
  }

  /** The command line of a server. */
  server(name: ServerName): string[] {
    const more = name === 'durable' ? [join(this.folder, 'durable.db')] : [];
    return [process.execPath, here(`${name}-server.mjs`), this.#ledger, ...more];
  }

  /** What a host starts, for one server: a `longcall wrap`, and another one whenever the last has died. */
  front(server: ServerName, options: readonly string[] = []): SupervisedStdio {
    return supervisedStdio({ command: process.execPath, args: this.frontArgs(server, options) });
  }

  /** What comes after `node` in a host's configuration. */
  frontArgs(server: ServerName, options: readonly string[] = []): string[] {
    return [LONGCALL, 'wrap', '--state', this.state, ...options, '--', ...this.server(server)];
  }

  /** Writes down both servers for `longcall serve`, each under its name, and says what comes after `node`. */
  gatewayArgs(port: number): string[] {
    const upstreams = Object.fromEntries(
      (['plain', 'durable'] as const).map((name) => [name, { command: this.server(name), prefix: `${name}_` }]),
    );
    const path = join(this.folder, 'longcall.yaml');
    writeFileSync(path, JSON.stringify({ listen: `127.0.0.1:${port}`, state: this.state, upstreams }), { mode: 0o600 });
    return [LONGCALL, 'serve', path, '--json'];
  }

  /** The daemon of this folder, if one has said that it listens. */
  get daemon(): DaemonRecord | undefined {
    return readRecord(this.state);
  }

  get hasSocket(): boolean {
    return existsSync(join(this.state, 'daemon.sock'));
  }

  /** Every process of a server that was ever started. */
  serverPids(server?: ServerName): number[] {
    const up = this.entries.filter((entry) => entry.what === 'up' && (server ?? entry.server) === entry.server);
    return up.map(({ pid }) => pid);
  }

  async stopDaemon(): Promise<boolean> {
    const { stdout } = await run(process.execPath, [LONGCALL, 'daemon', 'stop', '--state', this.state, '--json']);
    return (JSON.parse(stdout) as { stopped: boolean }).stopped;
  }
}

/** Ends a process as a power cut would, and waits until nothing is left of it. @returns whether it was there */
export async function kill(pid: number | undefined): Promise<boolean> {
  const identity = pid === undefined ? undefined : identify(pid);
  if (identity === undefined || !isAlive(identity)) return false;
  process.kill(identity.pid, 'SIGKILL');
  await gone(identity);
  return true;
}

async function gone(identity: ProcessIdentity): Promise<void> {
  while (isAlive(identity)) await setTimeout(5);
}

/** Which of them are still there. */
export function left(pids: readonly number[]): number[] {
  return pids.filter((pid) => {
    const identity = identify(pid);
    return identity !== undefined && isAlive(identity);
  });
}
