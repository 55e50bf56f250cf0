// The two ways in which a gateway stands between a host and its servers, and how to kill what stands there.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { processTable } from '../../../src/adapters/processes/process-table.ts';
import type { Call, ConnectedServer, TaskClient } from '../../../src/client/index.ts';
import type { SupervisedStdio } from '../../../src/gateway/upstreams/supervised-stdio.ts';
import { kill, left, type ServerName, type Stage } from '../../gateway/killed/stage.ts';
import { freePort } from '../../support/free-port.ts';
import { machineTime } from '../ledger.ts';
import type { Part } from './plan.ts';

/** How long one that is being started may take until it can be told to stop. */
const DAEMONS_WITHIN_MS = 15_000;

export interface House {
  open(client: TaskClient, protocol: string): Promise<void>;
  call(server: ServerName, tool: string, args: { token: string; ms: number }): Promise<Call>;
  /** Kills a part of what a server is behind. @returns whether it was there to be killed */
  kill(part: Part, server: ServerName): Promise<boolean>;
  /** Ends all of it as its operator would, once the host has left. @returns what is still there */
  close(): Promise<string[]>;
}

/** Kills the process of a server, whichever it is by now. */
async function killServer(stage: Stage, server: ServerName): Promise<boolean> {
  return kill(left(stage.serverPids(server)).at(-1));
}

/** Whatever runs for this stage: everything of it names its folder. */
function processesOf({ folder }: Stage): string[] {
  return [...processTable().values()].flatMap(({ pid, zombie }) => {
    const words = zombie ? '' : commandOf(pid);
    return words.includes(folder) ? [`process ${pid}: ${words}`] : [];
  });
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // It is gone, or there is no such folder.
  }
}

/** `longcall wrap` for each server, and the daemon that they start. */
export class Fronts implements House {
  readonly #stage: Stage;
  readonly #fronts: Record<ServerName, SupervisedStdio>;
  readonly #servers = new Map<ServerName, ConnectedServer>();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#fronts = { plain: stage.front('plain'), durable: stage.front('durable') };
  }

  async open(client: TaskClient, protocol: string): Promise<void> {
    for (const name of ['plain', 'durable'] as const) {
      this.#servers.set(name, await client.connect(name, { ...this.#fronts[name], protocol }));
    }
  }

  call(server: ServerName, tool: string, args: { token: string; ms: number }): Promise<Call> {
    return (this.#servers.get(server) as ConnectedServer).callTool({ name: tool, arguments: args });
  }

  kill(part: Part, server: ServerName): Promise<boolean> {
    if (part === 'server') return killServer(this.#stage, server);
    return kill(part === 'front' ? this.#fronts[server].status().pid : this.#stage.daemon?.pid);
  }

  async close(): Promise<string[]> {
    await Promise.all(Object.values(this.#fronts).map((front) => front.close()));
    // A front that left while it was starting a daemon may have left one more, which comes up when the first is gone.
    for (const until = machineTime() + DAEMONS_WITHIN_MS; ; await setTimeout(100)) {
      await this.#stage.stopDaemon();
      if (processesOf(this.#stage).length === 0 || machineTime() > until) break;
    }
    const found = processesOf(this.#stage);
    if (this.#stage.hasSocket) found.push('the socket');
    return found;
  }
}

/** `longcall serve`, started again whenever it ended, as a service manager would. */
export class Served implements House {
  readonly #stage: Stage;
  #child: ChildProcess | undefined;
  #server: ConnectedServer | undefined;
  #running: Promise<void> | undefined;
  #closing = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async open(client: TaskClient, protocol: string): Promise<void> {
    const port = await freePort();
    const args = this.#stage.gatewayArgs(port);
    const up = new Promise<void>((resolve) => {
      this.#running = this.#keepRunning(args, resolve);
    });
    await up;
    this.#server = await client.connect('gateway', { url: `http://127.0.0.1:${port}/mcp`, protocol });
  }

  call(server: ServerName, tool: string, args: { token: string; ms: number }): Promise<Call> {
    return (this.#server as ConnectedServer).callTool({ name: `${server}_${tool}`, arguments: args });
  }

  kill(part: Part, server: ServerName): Promise<boolean> {
    return part === 'server' ? killServer(this.#stage, server) : kill(this.#child?.pid);
  }

  async close(): Promise<string[]> {
    this.#closing = true;
    this.#child?.kill('SIGTERM');
    await this.#running;
    return processesOf(this.#stage);
  }

  async #keepRunning(args: readonly string[], up: () => void): Promise<void> {
    while (!this.#closing) {
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
      this.#child = child;
      const ended = once(child, 'exit');
      createInterface({ input: child.stdout }).once('line', up);
      await ended;
      await setTimeout(50);
    }
  }
}
