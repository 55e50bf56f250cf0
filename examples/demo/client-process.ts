// The conductor's end of the client process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { nodeArgs } from '../support/on-each-transport.ts';
import type { FromClient, ToClient } from './messages.ts';

/** The client polls five times a second and tells of it: longer silence means that something hangs. */
const SILENCE_MS = 60_000;

type Message<Type> = Extract<FromClient, { type: Type }>;

export class ClientProcess {
  readonly #child: ChildProcess;
  readonly #inbox: FromClient[] = [];
  #bell: () => void = () => {};
  #gone: string | undefined;

  constructor() {
    const child = spawn(process.execPath, nodeArgs(new URL('client.ts', import.meta.url)), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child = child;
    child.on('message', (message: FromClient) => {
      this.#inbox.push(message);
      this.#bell();
    });
    child.once('exit', (code, signal) => {
      this.#gone = `the client process ended with ${signal ?? `exit code ${code}`}`;
      this.#bell();
    });
  }

  send(message: ToClient): void {
    this.#child.send(message);
  }

  /** The next message of this type, and for which `enough` holds. What comes before it is passed over. */
  async until<Type extends FromClient['type']>(
    type: Type,
    enough: (message: Message<Type>) => boolean = () => true,
  ): Promise<Message<Type>> {
    for (;;) {
      const message = await this.#next(type);
      if (message.type === 'failed') throw new Error(`the client failed: ${message.message}`);
      if (message.type === type && enough(message as Message<Type>)) return message as Message<Type>;
      if (message.type === 'result') throw new Error(`the task was over too soon: still waiting for "${type}"`);
    }
  }

  /** @throws when it does not end well by itself */
  async end(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.send({ type: 'bye' });
    const [code] = await exited;
    if (code !== 0) throw new Error(`the client process ended with exit code ${code}, expected 0`);
  }

  /** The same in passing: the demo is over, one way or another. */
  async kill(): Promise<void> {
    if (this.#gone !== undefined) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #next(wanted: string): Promise<FromClient> {
    const until = performance.now() + SILENCE_MS;
    for (;;) {
      const message = this.#inbox.shift();
      if (message !== undefined) return message;
      if (this.#gone !== undefined) throw new Error(`${this.#gone} while "${wanted}" was expected`);
      const patience = until - performance.now();
      if (patience <= 0) throw new Error(`no news from the client for ${SILENCE_MS / 1_000} s, expected "${wanted}"`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, patience);
        this.#bell = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
