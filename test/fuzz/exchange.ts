import { parsed } from './sent.ts';
import type { Send } from './steps.ts';
import { passing, realTime } from './turns.ts';
import type { World } from './world.ts';

/** Nobody is kept waiting longer than this by anything but a stream: the most a call may block, and a little. */
const LONGEST_MS = 700_000;

/** What comes over sockets comes within this time, however busy the machine. */
const SOCKETS_MS = 5_000;

/** One request over HTTP, and what has come back so far. */
export class Exchange {
  readonly send: Send;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly message: unknown;
  status: number | undefined;
  answered: Record<string, string> = {};
  /** The body of the answer, as far as it has come. */
  text = '';
  finished = false;
  /** The client went away. */
  left = false;
  /** The request failed, which no server of ours may make it do. */
  failure: unknown;
  readonly #gone = new AbortController();
  #taken = 0;
  #cancel = (): void => {};

  private constructor(send: Send, headers: Record<string, string>, body: string) {
    this.send = send;
    this.headers = headers;
    this.body = body;
    // As the server reads it: bytes that are no UTF-8 become what stands for them.
    this.message = parsed(send.binary ? Buffer.from(body, 'latin1').toString('utf8') : body);
  }

  /** @returns undefined where HTTP itself cannot carry the message, and no client could send it */
  static async begin(send: Send, world: World, extra: Record<string, string> = {}): Promise<Exchange | undefined> {
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(send.headers)) headers[name] = await world.fill(value, extra);
    const body = send.body === undefined ? undefined : await world.fill(send.body, extra);
    const exchange = new Exchange(send, headers, body ?? '');
    const bytes = body === undefined ? undefined : Buffer.from(body, send.binary ? 'latin1' : 'utf8');
    let request: Request;
    try {
      request = new Request('http://127.0.0.1/mcp', {
        method: send.method,
        headers,
        signal: exchange.#gone.signal,
        ...(bytes !== undefined && { body: bytes }),
      });
    } catch {
      return undefined;
    }
    exchange.#read(request, world);
    return exchange;
  }

  /** The messages that have come since this was asked last. */
  news(): unknown[] {
    const fresh = this.messages().slice(this.#taken);
    this.#taken += fresh.length;
    return fresh;
  }

  messages(): unknown[] {
    const type = this.answered['content-type'] ?? '';
    if (type.startsWith('application/json')) return this.finished && this.text !== '' ? [parsed(this.text)] : [];
    return [...this.text.matchAll(/^data: ([^\n]+)$/gm)].map(([, data]) => parsed(data ?? ''));
  }

  /** The client goes away. */
  leave(): void {
    this.left = true;
    this.#gone.abort();
    this.#cancel();
  }

  /** Until it is answered in full; `false`: it is not, however much time passes. */
  async settled(world: World, { patient }: { patient: boolean }): Promise<boolean> {
    const finished = (): boolean => this.finished;
    await world.wait(finished);
    if (!this.finished) await passing(world.clock, 2_000, finished);
    if (!this.finished && patient) await passing(world.clock, LONGEST_MS, finished);
    if (!this.finished && patient && world.served.port !== undefined) await realTime(SOCKETS_MS, finished);
    return this.finished;
  }

  #read(request: Request, world: World): void {
    const fetch = world.validator.wrapFetch((incoming: Request) => world.served.fetch(incoming, this.send.as));
    const read = async (): Promise<void> => {
      const response = await fetch(request);
      this.status = response.status;
      this.answered = Object.fromEntries(response.headers);
      const decoder = new TextDecoder();
      if (response.body === null) return;
      const reader = response.body.getReader();
      // No listener of the signal: what that holds on to, Node's registry of requests does too.
      this.#cancel = () => void reader.cancel().catch(() => {});
      if (this.left) this.#cancel();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.text += decoder.decode(value, { stream: true });
      }
    };
    read()
      .catch((error) => {
        this.failure = error;
      })
      .finally(() => {
        this.finished = true;
      });
  }
}
