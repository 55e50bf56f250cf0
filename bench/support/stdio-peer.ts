import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const living = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A session of 2025-11-25 over a process's stdin and stdout, with as little between the pipe and the clock as there can be. */
export class StdioPeer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (line: string) => void; reject: (error: Error) => void }>();
  #count = 0;

  private constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
    living.add(this.#child);
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { id } = JSON.parse(line) as { id?: number };
      if (id !== undefined) this.#waiting.get(id)?.resolve(line);
    });
    this.#child.once('exit', (status) => {
      living.delete(this.#child);
      for (const { reject } of this.#waiting.values()) reject(new Error(`the server ended with ${status}`));
    });
  }

  static async start(command: string, args: readonly string[], env = process.env): Promise<StdioPeer> {
    const peer = new StdioPeer(command, args, env);
    const clientInfo = { name: 'bench', version: '1.0.0' };
    await peer.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    peer.#write({ method: 'notifications/initialized' });
    return peer;
  }

  /** @returns the answer as it came, and the milliseconds it took */
  async request(method: string, params: object = {}): Promise<{ ms: number; text: string }> {
    this.#count += 1;
    const id = this.#count;
    const started = performance.now();
    const line = new Promise<string>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#write({ id, method, params });
    const text = await line;
    this.#waiting.delete(id);
    return { ms: performance.now() - started, text };
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin?.end();
    await gone;
  }

  #write(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
