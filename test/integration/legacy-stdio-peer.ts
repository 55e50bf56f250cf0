import { onTestFinished } from 'vitest';
import type { Json } from '../support/messages.ts';
import type { WireValidator } from '../support/wire-validator.ts';
import { type Place, until } from './processes.ts';
import { StdioPeer } from './stdio-peer.ts';

export interface LegacyStdioOptions {
  version?: string;
  capabilities?: Json;
}

/** A client of 2025-11-25 or earlier with a server of its own, line by line. */
export class LegacyStdioPeer {
  readonly peer: StdioPeer;
  #nextId = 0;

  private constructor(place: Place, validator: WireValidator) {
    this.peer = new StdioPeer(place, validator);
    onTestFinished(() => this.peer.server.kill());
  }

  static async connect(
    place: Place,
    validator: WireValidator,
    { version = '2025-11-25', capabilities = {} }: LegacyStdioOptions = {},
  ): Promise<LegacyStdioPeer & { hello: Json }> {
    const own = new LegacyStdioPeer(place, validator);
    const clientInfo = { name: 'a test', version: '1.0.0' };
    const { result } = await own.send('initialize', { protocolVersion: version, capabilities, clientInfo });
    own.peer.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return Object.assign(own, { hello: result });
  }

  async send(method: string, params: Json = {}): Promise<{ result: Json; error: Json }> {
    this.#nextId += 1;
    const message = { jsonrpc: '2.0', id: this.#nextId, method, params };
    return (await this.peer.ask(message)) as { result: Json; error: Json };
  }

  call(name: string, args: Json = {}, extra: Json = {}): Promise<{ result: Json; error: Json }> {
    return this.send('tools/call', { name, arguments: args, ...extra });
  }

  /** Calls a tool as a task. */
  async start(name: string, args: Json = {}, extra: Json = {}): Promise<string> {
    const { result } = await this.call(name, args, { task: {}, ...extra });
    return String((result['task'] as Json)['taskId']);
  }

  /** The id of the latest request. */
  get lastId(): number {
    return this.#nextId;
  }

  answer(id: unknown, reply: Json): void {
    this.peer.write({ jsonrpc: '2.0', id, ...reply });
  }

  notify(method: string, params: Json): void {
    this.peer.write({ jsonrpc: '2.0', method, params });
  }

  /** All that came of one kind, in order. */
  all(method: string): Json[] {
    return this.peer.messages.filter((message) => message['method'] === method);
  }

  /** Waits for the nth message of a kind. */
  nth(method: string, n = 1): Promise<Json> {
    return until(`${n} of ${method} came`, () => this.all(method)[n - 1]);
  }

  /** Waits until a task was told to be so. */
  told(taskId: string, status: string): Promise<Json> {
    return until(`${taskId} was told to be ${status}`, () =>
      this.all('notifications/tasks/status').find(({ params }) => {
        const task = params as Json;
        return task['taskId'] === taskId && task['status'] === status;
      }),
    );
  }
}
