import type { Fetch } from '../server/peer.ts';
import type { Json } from '../support/messages.ts';

interface Line {
  dir: 'client->server' | 'server->client';
  /** Which POST: a message of the server is on the stream of that one, or its whole answer. */
  exchange: number;
  msg: Json;
}

/** Takes down every message of a conversation over HTTP, in the order in which they were sent. */
export class Recorder {
  readonly #lines: Line[] = [];
  #exchanges = 0;

  wrap(fetch: Fetch): Fetch {
    return async (request) => {
      this.#exchanges += 1;
      const exchange = this.#exchanges;
      const sent = await request.clone().text();
      if (sent !== '') this.#lines.push({ dir: 'client->server', exchange, msg: JSON.parse(sent) as Json });
      const response = await fetch(request);
      const received = (text: string): void =>
        void this.#lines.push({ dir: 'server->client', exchange, msg: JSON.parse(text) as Json });
      const type = response.headers.get('content-type') ?? '';
      if (type.startsWith('application/json')) received(await response.clone().text());
      if (!type.startsWith('text/event-stream') || response.body === null) return response;
      const { status, headers } = response;
      return new Response(response.body.pipeThrough(reading(received)), { status, headers });
    };
  }

  /** One message a line, with a placeholder for whatever differs from one recording to the next. */
  text(): string {
    const placeholders = new Placeholders();
    for (const { dir, msg } of this.#lines) placeholders.learn(msg, dir === 'server->client');
    return this.#lines.map((line) => `${placeholders.apply(JSON.stringify(line))}\n`).join('');
  }
}

/** Tells of the events of a stream as they pass. */
function reading(received: (data: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  return new TransformStream({
    transform(chunk, controller) {
      const events = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = /^data: (.+)$/m.exec(event)?.[1];
        if (data !== undefined) received(data);
      }
      controller.enqueue(chunk);
    },
  });
}

/** What is secret or sealed, wherever it stands. */
const SEALED = { requestState: 'state', nextCursor: 'cursor' } as const;

/** Each value has one placeholder, numbered in order of appearance: that two messages speak of the same remains visible. */
class Placeholders {
  readonly #names = new Map<string, string>();
  readonly #counts: Record<string, number> = {};

  learn(value: unknown, fromServer: boolean): void {
    if (typeof value === 'string') {
      for (const [id] of value.matchAll(/\btsk_[\w-]{24}/g)) this.#name(id, 'task');
      for (const [time] of value.matchAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g)) this.#name(time, 'time');
    }
    if (typeof value !== 'object' || value === null) return;
    const { method, id } = value as Json;
    if (fromServer && typeof method === 'string' && typeof id === 'string') this.#name(id, 'question');
    for (const [key, item] of Object.entries(value)) {
      const kind = SEALED[key as keyof typeof SEALED];
      if (kind !== undefined && typeof item === 'string') this.#name(item, kind);
      else this.learn(item, false);
    }
  }

  apply(line: string): string {
    let text = line;
    // The longest first: one value may be a part of another.
    for (const [value, name] of [...this.#names].sort(([a], [b]) => b.length - a.length)) {
      text = text.replaceAll(JSON.stringify(value).slice(1, -1), name);
    }
    return text;
  }

  #name(value: string, kind: string): void {
    if (this.#names.has(value)) return;
    const count = (this.#counts[kind] ?? 0) + 1;
    this.#counts[kind] = count;
    this.#names.set(value, `<${kind}-${count}>`);
  }
}
