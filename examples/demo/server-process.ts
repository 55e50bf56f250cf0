// The conductor's hold on the server process: start, kill -9, start again on the same database.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { nodeArgs } from '../support/on-each-transport.ts';
import type { ClientProcess } from './client-process.ts';
import type { ServerAddress } from './messages.ts';
import { say } from './screen.ts';

const START_WITHIN_MS = 20_000;
const GONE_WITHIN_MS = 5_000;
const script = new URL('server.ts', import.meta.url);

/** What server.ts reads from its environment. */
export type ServerEnv = Record<'DEMO_DB' | 'DEMO_STEP_LOG' | 'DEMO_PID_FILE', string>;

export interface ServerProcess {
  /** Where the client finds it. */
  readonly address: ServerAddress;
  /** Of the living one. */
  readonly pid: number | undefined;
  /** Resolves when there is a server; over stdio the client starts it. */
  started(client?: ClientProcess): Promise<void>;
  /** SIGKILL, and proof that the process is gone. */
  kill(): Promise<void>;
  /** The same in passing, if there is one: the demo is over, one way or another. */
  end(): Promise<void>;
}

export class HttpServerProcess implements ServerProcess {
  readonly #env: ServerEnv;
  #child: ChildProcess | undefined;
  #port = 0;
  #url = '';

  constructor(env: ServerEnv) {
    this.#env = env;
  }

  get address(): ServerAddress {
    return { transport: 'http', url: this.#url };
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async started(): Promise<void> {
    const child = spawn(process.execPath, nodeArgs(script), {
      // The first one takes any free port, the next ones the same again.
      env: { ...process.env, ...this.#env, DEMO_PORT: String(this.#port) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child = child;
    const listening = once(child, 'message', { signal: AbortSignal.timeout(START_WITHIN_MS) });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with exit code ${code} instead of listening`);
    });
    const [{ url, port }] = await Promise.race([listening, ended]);
    this.#url = url;
    this.#port = port;
    say('server', `process ${child.pid} listens on ${url}`);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) throw new Error('there is no server to kill');
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    const [, signal] = await exited;
    if (signal !== 'SIGKILL') throw new Error(`the server was to end by SIGKILL, and ended before it`);
    this.#child = undefined;
  }

  async end(): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.kill();
  }
}

export class StdioServerProcess implements ServerProcess {
  readonly address: ServerAddress;
  readonly #pidFile: string;
  #over = false;

  constructor(env: ServerEnv) {
    this.#pidFile = env.DEMO_PID_FILE;
    this.address = { transport: 'stdio', args: [...nodeArgs(script), '--stdio'], env };
  }

  get pid(): number | undefined {
    return existsSync(this.#pidFile) ? Number(readFileSync(this.#pidFile, 'utf8')) : undefined;
  }

  async started(client?: ClientProcess): Promise<void> {
    await client?.until('server');
  }

  async kill(): Promise<void> {
    const { pid } = this;
    if (pid === undefined) throw new Error('there is no server to kill');
    process.kill(pid, 'SIGKILL'); // Fails if it has ended already.
    if (!(await gone(pid, GONE_WITHIN_MS))) throw new Error(`process ${pid} was to end by SIGKILL and is still there`);
  }

  endedByClient(): void {
    this.#over = true;
  }

  async end(): Promise<void> {
    const { pid } = this;
    if (this.#over || pid === undefined || !alive(pid)) return;
    process.kill(pid, 'SIGKILL');
    await gone(pid, 500); // With its parent gone, it may lie there dead until somebody takes notice.
  }
}

/** The process is another one's child, so nobody tells us of its end. */
async function gone(pid: number, withinMs: number): Promise<boolean> {
  for (const until = performance.now() + withinMs; performance.now() < until; await setTimeout(5)) {
    if (!alive(pid)) return true;
  }
  return false;
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
