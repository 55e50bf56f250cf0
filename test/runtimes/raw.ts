// A client that writes bytes, for what no HTTP client would send.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { everyPost, headersFor } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';

export interface Answer {
  status: number;
  head: string;
  body: string;
}

/** One connection. */
export class RawClient {
  readonly socket: Socket;
  #text = '';
  #ended = false;
  #ring: () => void = () => {};

  constructor(port: number, options: { reading?: boolean } = {}) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {}); // Whoever waits sees the end.
    this.socket.on('close', () => {
      this.#ended = true;
      this.#ring();
    });
    if (options.reading !== false) this.read();
    onTestFinished(() => void this.socket.destroy());
  }

  /** Begins to take what comes. Until then it stays in the buffers of the network. */
  read(): void {
    this.socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1');
      this.#ring();
    });
  }

  get text(): string {
    return this.#text;
  }

  get ended(): boolean {
    return this.#ended;
  }

  write(text: string): void {
    this.socket.write(text, 'latin1');
  }

  /** Resolves once all of it is with the operating system. */
  async flushed(): Promise<void> {
    if (this.socket.connecting) await once(this.socket, 'connect');
    await new Promise<void>((resolve) => void this.socket.write('', () => resolve()));
  }

  /** Waits for what `found` finds in all that has come, or for the end of the connection. */
  async until<Found>(found: (text: string) => Found | undefined): Promise<Found> {
    for (;;) {
      const result = found(this.#text);
      if (result !== undefined) return result;
      if (this.#ended) throw new Error(`the connection ended after ${JSON.stringify(this.#text.slice(-500))}`);
      await new Promise<void>((resolve) => {
        this.#ring = resolve;
      });
    }
  }

  /** Waits for words to come. */
  async has(words: string): Promise<void> {
    await this.until((text) => (text.includes(words) ? true : undefined));
  }

  /** Waits for the next answer that says how long it is, or that comes in chunks, and takes it away. */
  async answer(): Promise<Answer> {
    const [answer, rest] = await this.until(readAnswer);
    this.#text = rest;
    return answer;
  }

  /** Waits for the connection to end, and returns all that came on it. */
  async rest(): Promise<string> {
    while (!this.#ended) {
      await new Promise<void>((resolve) => {
        this.#ring = resolve;
      });
    }
    return this.#text;
  }

  /** As a peer that is gone from one moment to the next, for those it can still be told to. */
  vanish(): void {
    this.socket.resetAndDestroy();
  }
}

function readAnswer(text: string): [Answer, string] | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const status = Number(/^HTTP\/1\.\d (\d+)/.exec(head)?.[1]);
  const after = text.slice(end + 4);
  if (status === 100) return readAnswer(after);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    return after.length < Number(length)
      ? undefined
      : [{ status, head, body: after.slice(0, Number(length)) }, after.slice(Number(length))];
  }
  if (!/^transfer-encoding: chunked/im.test(head)) return [{ status, head, body: '' }, after];
  let body = '';
  for (let at = 0; ; ) {
    const line = after.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(after.slice(at, line), 16);
    const next = line + 2 + size + 2;
    if (after.length < next) return undefined;
    if (size === 0) return [{ status, head, body }, after.slice(next)];
    body += after.slice(line + 2, line + 2 + size);
    at = next;
  }
}

/** The head of a request as it goes over the wire, without what says how long the body is. */
export function head(method: string, headers: Record<string, string | string[]> = {}, path = '/mcp'): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`),
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
}

/** A request of 2026-07-28, whole. */
export function post(message: Json, more: Record<string, string> = {}): string {
  const body = JSON.stringify(message);
  return `${head('POST', { ...headersOf(message), 'content-length': String(Buffer.byteLength(body)), ...more })}\r\n${body}`;
}

export function headersOf(message: Json): Record<string, string> {
  return { ...everyPost, ...headersFor(message) };
}
