import type { FetchLike } from '@modelcontextprotocol/client';
import type { Clock, Logger } from '../../core/index.ts';
import { NumberScanner } from './number-scanner.ts';

/** Operators are told again no sooner. */
const QUIET_MS = 3_600_000;

/**
 * Tells operators of a server that sends numbers which are changed on their way, as JSON is read with JavaScript's: seldom, and
 * never which.
 */
export class NumberWatch {
  readonly #parts: { clock: Clock; logger: Logger; server: string };
  #toldAt = Number.NEGATIVE_INFINITY;
  #messages = 0;

  constructor(parts: { clock: Clock; logger: Logger; server: string }) {
    this.#parts = parts;
  }

  /** A message that came whole. */
  look(message: Uint8Array): void {
    const scanner = new NumberScanner('json');
    scanner.push(message);
    scanner.end();
    if (scanner.found) this.#seen();
  }

  /** `fetch` whose answers are looked through while they are read, and come as they would have. */
  watching(inner: FetchLike): FetchLike {
    return async (url, init) => {
      const response = await inner(url, init);
      const form = formOf(response.headers.get('content-type') ?? '');
      if (response.body === null || form === undefined) return response;
      const { status, statusText, headers } = response;
      const looked = new Response(response.body.pipeThrough(this.#tap(form)), { status, statusText, headers });
      return Object.defineProperty(looked, 'url', { value: response.url }); // One that is made has none.
    };
  }

  #tap(form: 'json' | 'events'): TransformStream<Uint8Array, Uint8Array> {
    let scanner: NumberScanner | undefined = new NumberScanner(form);
    const look = (does: (scanner: NumberScanner) => void): void => {
      if (scanner === undefined) return;
      does(scanner);
      if (!scanner.found) return;
      scanner = undefined;
      this.#seen();
    };
    return new TransformStream({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        look((it) => it.push(chunk));
      },
      flush: () => look((it) => it.end()),
    });
  }

  #seen(): void {
    const { clock, logger, server } = this.#parts;
    this.#messages += 1;
    const now = clock.monotonic();
    if (now - this.#toldAt < QUIET_MS) return;
    this.#toldAt = now;
    const fields = { server, messages: this.#messages };
    this.#messages = 0;
    logger.warn(
      fields,
      'a server sends numbers that JavaScript cannot hold, and they are changed; strings would not be',
    );
  }
}

function formOf(type: string): 'json' | 'events' | undefined {
  if (/^application\/([\w.-]+\+)?json\b/i.test(type)) return 'json';
  return /^text\/event-stream\b/i.test(type) ? 'events' : undefined;
}
