import { type JSONRPCMessage, SdkHttpError, type Transport } from '@modelcontextprotocol/client';
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type RandomSource,
  type RpcErrorObject,
  type Timer,
} from '../core/index.ts';
import { readError } from '../wire/peer-task.ts';
import { isRestarted } from '../wire/restarted.ts';
import { RemoteProtocolError, RemoteRefusedError, RemoteUnreachableError } from './remote-errors.ts';
import { asRemoteError } from './trouble.ts';

export interface Asking {
  /** The id of the request, see {@link Connection.nextId}. */
  id?: string;
  /** Stops waiting. */
  signal?: AbortSignal | undefined;
  /** Stops waiting after this many milliseconds; absent: an answer may take as long as it likes. */
  timeoutMs?: number;
  /** The time begins anew with every progress under this token. */
  renewedBy?: unknown;
  /** Aborted: the answer is not wanted any more, so the server is told to stop, and nobody waits. */
  unwanted?: AbortSignal | undefined;
  /** Closes the stream of this request when nobody waits any more. On 2026-07-28 that cancels it, before not. */
  hangUp?: boolean;
  /** Sent with this request, where the transport has headers. */
  headers?: Readonly<Record<string, string>>;
}

/** Looks at a notification or a request of the server's; true: nobody else needs to. */
export type Listener = (message: JsonObject) => boolean;

interface Waiting {
  resolve: (result: JsonObject) => void;
  reject: (error: unknown) => void;
}

/**
 * The connection that an official client made, shared with it: requests of ours go over its transport under ids of their
 * own, past what the client would refuse to read, and messages about tasks are taken before it sees them. Everything else
 * is the client's as before.
 */
export class Connection {
  readonly #transport: Transport;
  readonly #clock: Clock;
  /** Why the connection was lost, where somebody knows. */
  readonly #trouble: (() => string | undefined) | undefined;
  readonly #prefix: string;
  readonly #waiting = new Map<string, Waiting>();
  readonly #listeners = new Set<Listener>();
  #count = 0;
  #closed = false;

  /** @param transport of a client that is connected; its callbacks are replaced by ones that call them */
  constructor(
    transport: Transport,
    { clock, random, trouble }: { clock: Clock; random: RandomSource; trouble?: () => string | undefined },
  ) {
    this.#transport = transport;
    this.#trouble = trouble;
    this.#clock = clock;
    this.#prefix = `longcall-${Buffer.from(random.bytes(6)).toString('base64url')}-`;
    const { onmessage, onclose } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#take(message as unknown as JsonObject)) onmessage?.(message, extra);
    };
    transport.onclose = () => {
      this.#close();
      onclose?.();
    };
  }

  /** Whether nothing can be sent any more, and another connection is needed. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether every request has a stream of its own, which can be closed alone. */
  get hasStreams(): boolean {
    return this.#transport.hasPerRequestStream === true;
  }

  nextId(): string {
    this.#count += 1;
    return `${this.#prefix}${this.#count}`;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * @throws {@link RemoteRefusedError} for an error of the protocol, {@link RemoteUnreachableError} when no answer came,
   *   {@link RemoteProtocolError} when it makes no sense, or the reason of the signal.
   */
  async request(method: string, params: JsonObject, asking: Asking = {}): Promise<JsonObject> {
    const { id = this.nextId(), signal, timeoutMs, renewedBy, hangUp = false, headers, unwanted } = asking;
    signal?.throwIfAborted();
    unwanted?.throwIfAborted();
    if (this.#closed) throw new RemoteUnreachableError('the connection is closed', { mayHaveRun: false });
    const stream = new AbortController();
    const { promise, resolve, reject } = withResolvers<JsonObject>();
    const giveUp = (reason: unknown): void => {
      reject(reason);
      if (hangUp) stream.abort(reason);
    };
    const aborted = (): void => giveUp(signal?.reason);
    const takeBack = (): void => {
      reject(unwanted?.reason);
      stream.abort(unwanted?.reason); // On 2026-07-28 over HTTP that says it; elsewhere this does.
      this.notify('notifications/cancelled', { requestId: id, reason: 'cancelled' }).catch(() => undefined);
    };
    const late = (): void =>
      giveUp(new RemoteUnreachableError(`no answer to ${method} within ${timeoutMs} ms`, { mayHaveRun: true }));
    let timer: Timer | undefined;
    const wait = (): void => {
      timer?.cancel();
      if (timeoutMs !== undefined) timer = this.#clock.setTimer(timeoutMs, late);
    };
    wait();
    const unlisten = renewedBy === undefined ? () => {} : this.listen(hearing(renewedBy, wait));
    signal?.addEventListener('abort', aborted);
    unwanted?.addEventListener('abort', takeBack);
    this.#waiting.set(id, { resolve, reject });
    const onRequestStreamEnd = (): void =>
      reject(new RemoteUnreachableError(`the stream of ${method} ended without an answer`, { mayHaveRun: true }));
    try {
      const sending = { requestSignal: stream.signal, onRequestStreamEnd, ...(headers && { headers }) };
      this.#send({ jsonrpc: '2.0', id, method, params }, sending).catch((error: unknown) =>
        reject(asRemoteError(error)),
      );
      return await promise;
    } finally {
      this.#waiting.delete(id);
      timer?.cancel();
      unlisten();
      signal?.removeEventListener('abort', aborted);
      unwanted?.removeEventListener('abort', takeBack);
    }
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.#sent({ jsonrpc: '2.0', method, params });
  }

  /** Answers a request of the server's. */
  async reply(id: string | number, answer: { result: JsonObject } | { error: RpcErrorObject }): Promise<void> {
    await this.#sent({ jsonrpc: '2.0', id, ...answer });
  }

  async #sent(message: object): Promise<void> {
    try {
      await this.#send(message, {});
    } catch (error) {
      throw asRemoteError(error);
    }
  }

  async #send(message: object, options: Parameters<Transport['send']>[1]): Promise<void> {
    try {
      await this.#transport.send(message as JSONRPCMessage, options);
    } catch (error) {
      if (this.#transport.sessionId === undefined || !saysUnknownSession(error)) throw error;
      this.#closed = true; // What else waits is answered, or learns the same.
      throw new RemoteUnreachableError('the server does not know this session', { cause: error, mayHaveRun: false });
    }
  }

  #take(message: JsonObject): boolean {
    if ('method' in message) return [...this.#listeners].some((listener) => listener(message));
    const { id } = message;
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return false;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) settle(message, waiting); // Else it is late: nobody waits for it any more.
    return true;
  }

  #close(): void {
    this.#closed = true;
    const why = this.#trouble?.();
    const message = `the connection was closed${why === undefined ? '' : `: ${why}`}`;
    const error = new RemoteUnreachableError(message, { mayHaveRun: true });
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/**
 * A session that the server does not know has to be begun anew. Servers in the manner of the SDK's examples say so by 400.
 * @see 2025-11-25 transports, "Session Management"
 */
function saysUnknownSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  if (error.status === 404) return true;
  return error.status === 400 && /session|not initialized/i.test(String(error.data.text));
}

/** Hears the progress of one request, and leaves it for everybody else to hear. */
function hearing(token: unknown, heard: () => void): Listener {
  return ({ method, params }) => {
    if (method === 'notifications/progress' && isJsonObject(params) && params.progressToken === token) heard();
    return false;
  };
}

function settle({ result, error }: JsonObject, { resolve, reject }: Waiting): void {
  if (error !== undefined) {
    const said = readError(error);
    const retryAfterMs = retryAfterOf(said.data);
    if (isRestarted(said)) reject(new RemoteUnreachableError(said.message, { mayHaveRun: true }));
    else if (retryAfterMs === undefined) reject(new RemoteRefusedError(said));
    else reject(new RemoteUnreachableError(said.message, { mayHaveRun: false, retryAfterMs }));
  } else if (isJsonObject(result)) resolve(result);
  else reject(new RemoteProtocolError('the answer has neither a result nor an error'));
}

/** How long a server that cannot serve a request now wants to be left alone; our own say so where HTTP cannot. */
function retryAfterOf(data: unknown): number | undefined {
  const ms = isJsonObject(data) ? data.retryAfterMs : undefined;
  return typeof ms === 'number' && ms >= 0 ? ms : undefined;
}

function withResolvers<Value>(): {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
