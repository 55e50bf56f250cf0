import { type Json, request, withTasks } from '../support/messages.ts';
import type { WireValidator } from '../support/wire-validator.ts';
import { type Place, type Running, run } from './processes.ts';

/** A client that writes lines to a server of its own, and holds every line it reads against the wire's rules. */
export class StdioPeer {
  readonly server: Running;
  /** All that came, in order; each line is a message or the test fails. */
  readonly messages: Json[] = [];
  readonly #connection: ReturnType<WireValidator['connection']>;
  readonly #waiting = new Map<unknown, (message: Json) => void>();
  #nextId = 1;
  #rest = '';

  constructor(place: Place, validator: WireValidator) {
    this.#connection = validator.connection();
    this.server = run('stdio', place.database, place.folder);
    this.server.child.stdout?.on('data', (chunk: string) => this.#read(chunk));
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
  }

  write(message: unknown): void {
    this.#connection.observeRequest(message);
    this.writeLine(JSON.stringify(message));
  }

  writeLine(line: string): void {
    this.server.child.stdin?.write(`${line}\n`);
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

  /** As a client that goes away does. */
  closeStdin(): Promise<number | string> {
    this.server.child.stdin?.end();
    return this.server.ended;
  }
}
