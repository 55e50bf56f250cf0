import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What whoever drives a server on stdio may ask it, beside the protocol. */
export type StdioQuestion = { number: number } & Asked;
type Asked =
  | { ask: 'fill'; template: string; extra: Record<string, string> }
  | { ask: 'unknown'; template: string }
  | { ask: 'pass'; ms: number }
  | { ask: 'quiet' | 'report' };

export interface StdioAnswer {
  number: number;
  said: string | string[];
}

/** A server in a process of its own, and the channel to it. */
export class StdioChannel {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  /** All that came on stderr, where nothing should. */
  stderr = '';
  readonly #waiting = new Map<number, (said: string | string[]) => void>();
  readonly #ready: Promise<unknown>;
  #next = 0;

  constructor(seeds: readonly number[]) {
    const script = fileURLToPath(new URL('./stdio-process.ts', import.meta.url));
    const args = ['--import', 'tsx', script, ...seeds.map(String)];
    this.child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe', 'ipc'] });
    this.exited = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.child.stdin?.on('error', () => {}); // As when it has gone: its exit code tells more.
    this.child.on('message', ({ number, said }: StdioAnswer) => {
      this.#waiting.get(number)?.(said);
      this.#waiting.delete(number);
    });
    this.#ready = this.#hear(0);
    this.#ready.catch(() => {}); // Whoever asks is told.
  }

  /** Resolves once it serves. */
  async ready(): Promise<void> {
    await this.#ready;
  }

  /** @throws when the process is gone */
  async ask(question: Asked): Promise<string | string[]> {
    await this.#ready;
    this.#next += 1;
    const heard = this.#hear(this.#next);
    this.child.send({ ...question, number: this.#next } satisfies StdioQuestion);
    return heard;
  }

  async #hear(number: number): Promise<string | string[]> {
    const gone = this.exited.then((code) => {
      throw new Error(`the server on stdio has gone with ${code}: ${this.stderr}`);
    });
    return Promise.race([new Promise<string | string[]>((resolve) => this.#waiting.set(number, resolve)), gone]);
  }
}
