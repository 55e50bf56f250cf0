import type { Readable, Writable } from 'node:stream';
import { type Json, request, withTasks } from './messages.ts';
import type { WireValidator } from './wire-validator.ts';

/** A client that writes lines to a server, and holds every line it reads against the wire's rules. */
export class LinePeer {
  /** All that came, in order; each line is a message or the test fails. */
  readonly messages: Json[] = [];
  readonly #output: Writable;
  readonly #connection: ReturnType<WireValidator['connection']>;
  readonly #waiting = new Map<unknown, (message: Json) => void>();
  readonly #looking = new Set<() => void>();
  #nextId = 1;
  #rest = '';

  constructor(streams: { input: Readable; output: Writable }, validator: WireValidator) {
    this.#connection = validator.connection();
    this.#output = streams.output;
    streams.input.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk));
  }

  #read(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as Json;
      this.messages.push(message);
      try {
        this.#connection.checkOutgoing(message);
      } catch {
        // The validator keeps what it found, and is asked at the end of the test.
      }
      if (!('method' in message)) this.#waiting.get(message['id'])?.(message);
    }
    for (const look of [...this.#looking]) look();
  }

  /** The first message that is as wanted, if need be one still to come. */
  first(wanted: (message: Json) => boolean): Promise<Json> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.messages.find(wanted);
        if (found === undefined) return;
        this.#looking.delete(look);
        resolve(found);
      };
      this.#looking.add(look);
      look();
    });
  }

  write(message: unknown): void {
    this.#connection.observeRequest(message);
    this.writeLine(JSON.stringify(message));
  }

  writeLine(line: string): void {
    this.#output.write(`${line}\n`);
  }

  /** Writes a request as it is, and waits for the answer. */
  ask(message: Json): Promise<Json> {
    const answer = new Promise<Json>((resolve) => this.#waiting.set(message['id'], resolve));
    this.write(message);
    return answer;
  }

  /** A modern request with an id of its own. */
  request(method: string, params: Json, capabilities: Json = withTasks, meta: Json = {}): Json {
    this.#nextId += 1;
    return request(this.#nextId, method, params, capabilities, meta);
  }

  async send(method: string, params: Json, capabilities?: Json, meta?: Json): Promise<{ result: Json; error: Json }> {
    return (await this.ask(this.request(method, params, capabilities, meta))) as { result: Json; error: Json };
  }

  call(name: string, args: Json = {}, capabilities?: Json, meta?: Json): Promise<{ result: Json; error: Json }> {
    return this.send('tools/call', { name, arguments: args }, capabilities, meta);
  }

  /** Begins a session as clients before 2026-07-28 do. */
  async initialize(capabilities: Json = {}, version = '2025-11-25'): Promise<{ result: Json }> {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'line-peer', version: '1' } };
    const answer = await this.ask({ jsonrpc: '2.0', id: 'initialize', method: 'initialize', params });
    this.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer as { result: Json };
  }
}
