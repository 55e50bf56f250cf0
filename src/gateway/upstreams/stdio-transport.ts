import { RemoteUnreachableError } from '../../client/remote-errors.ts';
import type { JSONRPCMessage, Transport } from '../../client/transports.ts';
import type { Clock, JsonObject, Timer } from '../../core/index.ts';
import { isTooDeep } from '../../wire/depth.ts';

/** What a transport needs of whoever owns the process behind it. */
export interface Owner {
  clock: Clock;
  probeTimeoutMs: number;
  /** Whether the server is known to end when it is asked what it speaks before it is greeted. */
  readonly endsWhenProbed: boolean;
  connect(transport: StdioTransport): Promise<void>;
  write(transport: StdioTransport, text: string): Promise<void>;
  disconnect(transport: StdioTransport): Promise<void>;
  /** Something was said, by either. */
  active(): void;
  pid(transport: StdioTransport): number | undefined;
}

const DISCOVER = 'server/discover';
/** A request that is not answered before its subscription ends: nobody waits for it. */
const LISTEN = 'subscriptions/listen';
const METHOD_NOT_FOUND = { code: -32601, message: 'Method not found' };

/**
 * One connection to a server on standard streams, as the official client wants it. The process behind it is its owner's.
 *
 * Clients of 2026-07-28 begin with a question that older servers do not know. Some of those end on it, and some say nothing:
 * the question is then answered here in their place, so that the client greets them in the old way.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <Message extends JSONRPCMessage>(message: Message) => void;
  readonly #owner: Owner;
  readonly #open = new Set<unknown>();
  #state: 'new' | 'started' | 'gone' = 'new';
  #closing: Promise<void> | undefined;
  #spoken = false;
  #probe: { id: string | number; timer: Timer } | undefined;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** By this and {@link pid} the official client knows a connection on standard streams. */
  get stderr(): null {
    return null;
  }

  get pid(): number | null {
    return this.#owner.pid(this) ?? null;
  }

  /** How many requests of this side wait for an answer. */
  get openRequests(): number {
    return this.#open.size;
  }

  /** Whether all that was said so far is the question what the server speaks. */
  get probing(): boolean {
    return this.#probe !== undefined;
  }

  /** Whether this side has closed it, or the other has. */
  get closed(): boolean {
    return this.#closing !== undefined || this.#state === 'gone';
  }

  async start(): Promise<void> {
    if (this.#state !== 'new' || this.closed) throw new Error('a transport is started once');
    this.#state = 'started';
    await this.#owner.connect(this);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#state !== 'started' || this.closed) {
      throw new RemoteUnreachableError('the connection is closed', { mayHaveRun: false });
    }
    const first = !this.#spoken;
    this.#spoken = true;
    if ('method' in message && 'id' in message) {
      if (first && message.method === DISCOVER && !this.#probes(message.id)) return;
      if (message.method !== LISTEN) this.#open.add(message.id);
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      this.#open.delete((message.params as JsonObject | undefined)?.requestId);
    }
    this.#owner.active();
    await this.#owner.write(this, `${JSON.stringify(message)}\n`);
  }

  /** Ends the connection and the process behind it. */
  close(): Promise<void> {
    this.#closing ??= this.#owner.disconnect(this).then(() => this.gone());
    return this.#closing;
  }

  /** A message from the server. */
  deliver(message: JsonObject): void {
    if (this.#state !== 'started') return;
    this.#owner.active();
    if (!('method' in message)) {
      this.#open.delete(message.id);
      if (this.#probe?.id === message.id) this.#probed();
    }
    const readable = isTooDeep(message) ? withoutContent(message) : message;
    if (readable === undefined) return;
    try {
      this.onmessage?.(readable as unknown as JSONRPCMessage);
    } catch (error) {
      this.trouble(error);
    }
  }

  trouble(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  /** The server is gone, or is about to be. */
  gone(): void {
    if (this.#state !== 'started') return;
    this.#state = 'gone';
    this.#probed();
    this.#open.clear();
    this.onclose?.();
  }

  /** Answers what the server speaks in its place: nothing new. */
  answerProbe(): void {
    const { id } = this.#probe ?? {};
    if (id !== undefined) this.deliver({ jsonrpc: '2.0', id, error: METHOD_NOT_FOUND });
  }

  /** Whether the server is asked. */
  #probes(id: string | number): boolean {
    const { clock, probeTimeoutMs, endsWhenProbed } = this.#owner;
    const answer = (): void => this.answerProbe();
    this.#probe = { id, timer: clock.setTimer(endsWhenProbed ? 0 : probeTimeoutMs, answer) };
    if (endsWhenProbed) queueMicrotask(answer);
    return !endsWhenProbed;
  }

  #probed(): void {
    this.#probe?.timer.cancel();
    this.#probe = undefined;
  }
}

/** An answer that nobody can read is one still; whoever waits for it learns why. */
function withoutContent(message: JsonObject): JsonObject | undefined {
  if ('method' in message) return undefined;
  const error = { code: -32603, message: 'the answer of the server is nested too deeply to be read' };
  return { jsonrpc: '2.0', id: message.id ?? null, error };
}
