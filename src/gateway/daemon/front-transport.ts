import { PassThrough } from 'node:stream';
import type { JSONRPCMessage, Transport } from '../../client/transports.ts';
import { type FrontOptions, runFront } from './front.ts';
import { lines } from './lines.ts';

/** Larger messages than any server takes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** A front of the daemon in this process, as the official client wants it: a daemon that dies under it is replaced. */
export class FrontTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <Message extends JSONRPCMessage>(message: Message) => void;
  /** Why there is no connection any more. */
  trouble: string | undefined;
  readonly #options: Omit<FrontOptions, 'input' | 'output'>;
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  #running: Promise<void> | undefined;

  constructor(options: Omit<FrontOptions, 'input' | 'output'>) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const [input, output] = [this.#input, this.#output];
    this.#running = runFront({ ...this.#options, input, output })
      .catch((error: Error) => {
        this.trouble = error.message;
        this.onerror?.(error);
      })
      .finally(() => {
        output.end();
        this.onclose?.();
      });
    this.#read().catch((error: Error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#input.writableEnded || this.#input.destroyed) throw new Error('the connection is closed');
    this.#input.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#input.end();
    await this.#running;
  }

  async #read(): Promise<void> {
    for await (const batch of lines(this.#output, MAX_LINE_BYTES)) {
      for (const line of batch) this.onmessage?.(JSON.parse(line.toString('utf8')) as JSONRPCMessage);
    }
  }
}
