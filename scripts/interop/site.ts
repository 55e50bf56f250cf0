// A server of ours, where scenarios are played: over HTTP a process that is started here, over stdio one that clients start.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServingOptions } from 'longcall/server';
import { createWireValidator, type WireValidator } from '../../test/support/wire-validator.ts';
import { ended, track } from '../support/children.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'test/interop/server-process.ts');
const gatewayProgram = join(root, 'test/interop/gateway-process.ts');
/** How often files are looked at, in milliseconds. */
const LOOK_MS = 20;

export type TransportName = 'http' | 'stdio';

export interface ServerOptions extends Pick<ServingOptions, 'isErrorStatus'> {
  detachAfterMs?: number;
}

export class Site {
  /** Where clients find it over HTTP: its own address, or that of the gateway before it; the same after a restart. */
  url = '';
  readonly transport: TransportName;
  /** Holds what clients receive against the schemas, as far as clients let us look. */
  readonly validator: WireValidator = createWireValidator();
  readonly #folder: string;
  readonly #options: ServerOptions;
  #server: ReturnType<typeof fork> | undefined;
  #gateway: ReturnType<typeof fork> | undefined;
  #port = '0';
  #log = '';

  private constructor(folder: string, transport: TransportName, options: ServerOptions) {
    this.#folder = folder;
    this.transport = transport;
    this.#options = options;
  }

  /** @param options.gateway puts a gateway before it, which stays when it is killed */
  static async open(
    transport: TransportName,
    options: ServerOptions = {},
    { gateway = false }: { gateway?: boolean } = {},
  ): Promise<Site> {
    const site = new Site(await mkdtemp(join(tmpdir(), 'longcall-interop-')), transport, options);
    await site.start();
    if (gateway) await site.#putGateway();
    return site;
  }

  /** What is put before a question: a gateway says who asks. */
  get asker(): string {
    return this.hasGateway ? 'interop: ask asks: ' : '';
  }

  get hasGateway(): boolean {
    return this.#gateway !== undefined;
  }

  /** A home for clients that keep things in theirs. */
  get home(): string {
    return this.#folder;
  }

  /** How a client starts the server for itself. */
  get command(): { command: string; args: string[]; cwd: string } {
    return { command: process.execPath, args: ['--import', 'tsx', program, ...this.#args('0')], cwd: root };
  }

  /** Starts it (again), on the port it had. Over stdio that is the client's affair. */
  async start(): Promise<void> {
    if (this.transport === 'stdio') return;
    const { child, url } = await this.#forked(program, this.#args(this.#port));
    this.#server = child;
    this.#port = new URL(url).port;
    if (this.#gateway === undefined) this.url = url;
  }

  async #putGateway(): Promise<void> {
    const { child, url } = await this.#forked(gatewayProgram, [this.#folder, this.url, JSON.stringify(this.#options)]);
    this.#gateway = child;
    this.url = url;
  }

  async #forked(file: string, args: string[]): Promise<{ child: ReturnType<typeof fork>; url: string }> {
    const child = track(fork(file, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }));
    child.stderr?.setEncoding('utf8').on('data', (text) => {
      this.#log += text;
    });
    const [first] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
    if (typeof first !== 'string') throw new Error(`the server did not start:\n${this.#log}`);
    return { child, url: first };
  }

  /** What the server told its operator; over stdio that goes to the client. */
  get log(): string {
    return this.#log;
  }

  /** As a power cut would end it. */
  async kill(): Promise<void> {
    if (this.#server !== undefined) {
      this.#server.kill('SIGKILL');
      await ended(this.#server);
      return;
    }
    const pid = Number(readFileSync(join(this.#folder, 'pid'), 'utf8'));
    process.kill(pid, 'SIGKILL');
    await until(`the end of process ${pid}`, () => !isAlive(pid));
  }

  open(gate: string): void {
    writeFileSync(join(this.#folder, gate), '');
  }

  /** What has run so far, in order. */
  ran(): string[] {
    const file = join(this.#folder, 'ran');
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  }

  saw(line: string): Promise<void> {
    return until(`"${line}" to have run`, () => this.ran().includes(line));
  }

  /** @throws {Error} when the server does not end by itself. */
  async close(): Promise<void> {
    for (const server of [this.#gateway, this.#server]) {
      if (server?.connected !== true) continue;
      server.disconnect();
      const status = await ended(server);
      if (status !== 0) throw new Error(`the server ended with ${status}:\n${this.#log}`);
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #args(port: string): string[] {
    return [this.transport, this.#folder, port, JSON.stringify(this.#options)];
  }
}

/** Looks until it is so. @throws {Error} after 20 s */
export async function until(what: string, look: () => boolean, patienceMs = 20_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!look()) {
    if (performance.now() > deadline) throw new Error(`waited ${patienceMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
