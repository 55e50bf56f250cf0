// A server that is a process of its own, killed and started again where it was.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const START_WITHIN_MS = 20_000;

/** How it is started. The first one takes any free port (0), the next ones the same again. */
export type Starting = (port: number) => { args: string[]; env?: Record<string, string> };

export class MortalServer implements AsyncDisposable {
  readonly #starting: Starting;
  #child: ChildProcessByStdio<null, Readable, null> | undefined;
  #url = new URL('http://127.0.0.1:0');

  constructor(starting: Starting) {
    this.#starting = starting;
    process.once('exit', () => this.#child?.kill('SIGKILL'));
  }

  get url(): string {
    return this.#url.href;
  }

  /** Starts it, with this very Node. Its first line has to say where it listens. */
  async start(): Promise<void> {
    const { args, env } = this.#starting(Number(this.#url.port));
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    const stopped = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server stopped: ${code}`)));
    stopped.catch(() => {}); // Later on, that is what it is for.
    const line = once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(START_WITHIN_MS) });
    const [said] = (await Promise.race([line, stopped])) as [string];
    const [url] = /http:\/\/[^\s;]+/.exec(said) ?? [];
    if (url === undefined) throw new Error(`the server does not say where it listens: ${said}`);
    this.#url = new URL(url);
  }

  /** SIGKILL: nothing is tidied up, nobody is told. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) throw new Error('no server runs');
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) await this.kill();
  }
}
