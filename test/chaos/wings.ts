import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Told } from './server-process.ts';

const script = fileURLToPath(new URL('server-process.ts', import.meta.url));
const LOAD_WITHIN_MS = 60_000;

/** Processes that are loaded and wait for a part, so that a place in the fleet is filled again within milliseconds. */
export class Wings {
  readonly #args: string[];
  readonly #size: number;
  readonly #waiting: Promise<ChildProcess>[] = [];
  /** All that were started and have not ended. */
  readonly #living = new Set<ChildProcess>();

  constructor(args: string[], size: number) {
    this.#args = args;
    this.#size = size;
  }

  async take(): Promise<ChildProcess> {
    while (this.#waiting.length <= this.#size) this.#waiting.push(this.#load());
    return this.#waiting.shift() as Promise<ChildProcess>;
  }

  /** Ends every process, on stage too; at once, whatever state they are in. Resolves when they are gone. */
  async destroy(): Promise<void> {
    const gone = [...this.#living].map((child) => once(child, 'exit'));
    for (const child of this.#living) child.kill('SIGKILL');
    await Promise.all(gone);
  }

  async #load(): Promise<ChildProcess> {
    const child = fork(script, this.#args, {
      execArgv: ['--import', import.meta.resolve('tsx')],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#living.add(child);
    child.once('exit', () => this.#living.delete(child));
    const signal = AbortSignal.timeout(LOAD_WITHIN_MS);
    const loaded = once(child, 'message', { signal }) as Promise<[Told]>;
    loaded.catch(() => {}); // It was destroyed before anybody wanted it.
    const [told] = await loaded;
    if (!('loaded' in told)) throw new Error(`a process said ${JSON.stringify(told)} before it was asked anything`);
    return child;
  }
}
