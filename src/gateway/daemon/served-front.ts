import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Clock, JsonObject, Logger } from '../../core/index.ts';
import type { ServedFront, ServeFront } from './backend.ts';
import type { Hello } from './hello.ts';

/** A host that reads nothing may leave so much unread before its connection is given up. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** How long a front may take to read its last lines. */
const LAST_WORDS_MS = 2_000;

/** A front while it is connected. */
export class Front {
  readonly #hello: Hello;
  readonly #socket: Socket;
  readonly #served: ServedFront;
  readonly #clock: Clock;
  readonly #since: number;
  /** Resolves when nothing is left of it. */
  readonly gone: Promise<void>;

  constructor(hello: Hello, socket: Socket, serve: ServeFront, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#hello = hello;
    this.#socket = socket;
    this.#clock = clock;
    this.#since = clock.now();
    socket.setMaxListeners(0); // Each message that waits to be read adds one.
    limitUnread(socket);
    this.#served = serve(hello, { input: socket, output: socket });
    const failed = (error: unknown): void => logger.warn({ error }, 'a front could not be served');
    this.gone = Promise.race([this.#served.closed.catch(failed), once(socket, 'close').catch(failed)])
      .then(() => this.end())
      .catch(failed);
  }

  /** Ends the connection; what was said is still delivered. */
  async end(): Promise<void> {
    await this.#served.close();
    if (this.#socket.closed) return;
    const timer = this.#clock.setTimer(LAST_WORDS_MS, () => this.#socket.destroy());
    const closed = new Promise<void>((resolve) => {
      this.#socket.once('close', () => resolve());
    });
    this.#socket.end();
    await closed;
    timer.cancel();
  }

  get name(): string {
    return this.#served.name ?? '';
  }

  /** For operators: no environment, no arguments. */
  status(): JsonObject {
    const client = this.#served.client?.();
    const { folder } = this.#hello;
    return { upstream: this.name, folder, since: this.#since, ...(client !== undefined && { client }) };
  }
}

function limitUnread(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (...args: unknown[]): boolean => {
    const room = write(...args);
    if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
    return room;
  };
}
