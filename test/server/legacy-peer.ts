import { expect } from 'vitest';
import type { Json } from '../support/messages.ts';
import { events, type Served } from './peer.ts';

export interface Question extends Json {
  id: string;
  method: string;
  params: Json;
}

export interface LegacyReply {
  status: number;
  headers: Headers;
  message: Json;
  result: Json;
  error: { code: number; message: string; data?: unknown };
  /** Everything else that came on the stream before the answer. */
  others: Json[];
}

export interface LegacyOptions {
  version?: string;
  capabilities?: Json;
  client?: string;
  /** Leave the session id and the version out, as clients do that know of neither. */
  bare?: boolean;
}

/** A stream that is read as it comes. */
export interface Reading {
  readonly seen: readonly Json[];
  /** The first message that is as wanted, if need be one still to come. */
  first(wanted: (message: Json) => boolean): Promise<Json>;
  /** Resolves at the end of the stream. */
  readonly ended: Promise<void>;
}

function reading(messages: AsyncIterable<Json>): Reading {
  const seen: Json[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const ring = (): void => {
    for (const look of [...waiting]) look();
  };
  const ended = (async () => {
    try {
      for await (const message of messages) {
        seen.push(message);
        ring();
      }
    } catch {
      // Whoever aborted it knows.
    } finally {
      over = true;
      ring();
    }
  })();
  const first: Reading['first'] = (wanted) =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = seen.find(wanted);
        if (found === undefined && !over) return;
        waiting.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the stream ended without it; it brought ${JSON.stringify(seen)}`));
      };
      waiting.add(look);
      look();
    });
  return { seen, first, ended };
}

export const isQuestion = (message: Json): boolean => message['method'] === 'elicitation/create';
export const isStatus = (message: Json): boolean => message['method'] === 'notifications/tasks/status';
export const isAnswer = (message: Json): boolean => !('method' in message);

const everyPost = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A client of 2025-11-25 or earlier over HTTP, by hand. Every message is held against the rules of its revision. */
export class LegacyPeer {
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Record<string, string> = {};
  #nextId = 0;
  /** Answers what the server asks on a stream; without it questions stay open. */
  onQuestion: ((question: Question) => Json | undefined) | undefined;

  constructor(served: Pick<Served, 'peer'>) {
    this.#fetch = served.peer.fetch;
  }

  get sessionId(): string | undefined {
    return this.#headers['mcp-session-id'];
  }

  /** Begins a session. */
  static async connect(
    served: Pick<Served, 'peer'>,
    options: LegacyOptions = {},
  ): Promise<LegacyPeer & { hello: Json }> {
    const { version = '2025-11-25', capabilities = {}, client = 'a test', bare = false } = options;
    const peer = new LegacyPeer(served);
    const params = { protocolVersion: version, capabilities, clientInfo: { name: client, version: '1.0.0' } };
    const response = await peer.#post({ jsonrpc: '2.0', id: peer.#id(), method: 'initialize', params });
    const { result } = await peer.#read(response);
    const session = response.headers.get('mcp-session-id');
    if (!bare) {
      if (session !== null) peer.#headers['mcp-session-id'] = session;
      peer.#headers['mcp-protocol-version'] = String(result['protocolVersion']);
    }
    const ready = await peer.#post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(ready.status).toBe(202);
    return Object.assign(peer, { hello: result });
  }

  /** One that knows of no session, and may name its version in a header. */
  static stateless(served: Pick<Served, 'peer'>, version?: string): LegacyPeer {
    const peer = new LegacyPeer(served);
    if (version !== undefined) peer.#headers['mcp-protocol-version'] = version;
    return peer;
  }

  /** The same session from another process, or after a restart. */
  on(served: Pick<Served, 'peer'>): LegacyPeer {
    const peer = new LegacyPeer(served);
    Object.assign(peer.#headers, this.#headers);
    peer.#nextId = this.#nextId + 1_000;
    peer.onQuestion = this.onQuestion;
    return peer;
  }

  async send(method: string, params: Json = {}, options: { signal?: AbortSignal } = {}): Promise<LegacyReply> {
    return this.#read(await this.#post({ jsonrpc: '2.0', id: this.#id(), method, params }, options));
  }

  call(name: string, args: Json = {}, extra: Json = {}, options: { signal?: AbortSignal } = {}): Promise<LegacyReply> {
    return this.send('tools/call', { name, arguments: args, ...extra }, options);
  }

  /** Calls a tool as a task. */
  async start(name: string, args: Json = {}, task: Json = {}, extra: Json = {}): Promise<Json & { taskId: string }> {
    const { message, result } = await this.call(name, args, { task, ...extra });
    expect(message).toMatchObject({ result: { task: { taskId: expect.any(String) } } });
    return result['task'] as Json & { taskId: string };
  }

  /** The bare response, for reading a stream while it is written. */
  stream(method: string, params: Json = {}, options: { signal?: AbortSignal; id?: unknown } = {}): Promise<Response> {
    const { id = this.#id(), ...rest } = options;
    return this.#post({ jsonrpc: '2.0', id, method, params }, rest);
  }

  /** Reads what comes on the stream of a request, until its answer or the signal. */
  async follow(method: string, params: Json = {}, signal?: AbortSignal, id?: number): Promise<Reading> {
    const options = { ...(signal && { signal }), ...(id !== undefined && { id }) };
    return reading(events(await this.stream(method, params, options)));
  }

  /** Reads what the session is told unasked. */
  async channel(signal?: AbortSignal): Promise<Reading> {
    return reading(events(await this.request('GET', { accept: 'text/event-stream' }, signal)));
  }

  /** A request without a body. */
  request(method: 'GET' | 'DELETE', headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const init = { method, headers: { ...this.#headers, ...headers }, ...(signal && { signal }) };
    return this.#fetch(new Request('http://127.0.0.1/mcp', init));
  }

  /** Answers a question of the server's. */
  async answer(id: string, reply: Json): Promise<number> {
    return (await this.reply(id, reply)).status;
  }

  /** The same, with all that comes back. */
  reply(id: string, reply: Json): Promise<Response> {
    return this.#post({ jsonrpc: '2.0', id, ...reply });
  }

  notify(method: string, params: Json): Promise<Response> {
    return this.#post({ jsonrpc: '2.0', method, params });
  }

  #id(): number {
    this.#nextId += 1;
    return this.#nextId;
  }

  #post(message: Json, { signal }: { signal?: AbortSignal } = {}): Promise<Response> {
    const body = JSON.stringify(message);
    const headers = { ...everyPost, ...this.#headers };
    return this.#fetch(
      new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, ...(signal && { signal }) }),
    );
  }

  async #read(response: Response): Promise<LegacyReply> {
    const others: Json[] = [];
    let message: Json = {};
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      message = (await response.json()) as Json;
    } else {
      for await (const event of events(response)) {
        if ('method' in event) {
          others.push(event);
          if ('id' in event) await this.#asked(event as Question);
        } else message = event;
      }
    }
    const { status, headers } = response;
    const { result, error } = message as { result: Json; error: LegacyReply['error'] };
    return { status, headers, message, result, error, others };
  }

  async #asked(question: Question): Promise<void> {
    const reply = this.onQuestion?.(question);
    if (reply !== undefined) expect(await this.answer(question.id, reply)).toBe(202);
  }
}
