import { randomUUID } from 'node:crypto';
import { isJsonObject, type Principal, principalKey } from '../../core/index.ts';
import { agreedVersion, REVISION, readInitialize, type Session, sessionless } from '../../wire/rev2025-11-25/index.ts';
import type { CallerAuth } from '../principal.ts';
import { ConnectionClosedError, type MessageExtraInfo, type RequestId, type Transport } from '../sdk.ts';

const VERSION_HEADER = 'mcp-protocol-version';

/** What the transports of version 1 tell with a message. */
interface Extra extends MessageExtraInfo {
  /** Only where messages come over HTTP. */
  requestInfo?: { headers?: Record<string, string | string[] | undefined> } | undefined;
}

/** What is known of a connection, all of it by what comes and leaves on it. */
export class Connection {
  readonly transport: Transport;
  /** Each HTTP request has a stream of its own; over the older HTTP transport, pipes and in memory there is one for all. */
  hasStreams: boolean;
  /** Anybody may be at the other end. */
  overHttp: boolean;
  /** Somebody begins to listen; what it returns is called when he stops. */
  begun: ((room: () => Promise<void>) => () => void) | undefined;
  readonly #id = randomUUID();
  readonly #ended = new AbortController();
  #opener: Principal | undefined;
  #greeting: { requestId: RequestId; session: Session } | undefined;
  #session: Session | undefined;
  /** HTTP without sessions: nothing that one request says holds for another. */
  #single = false;
  #version: string | undefined;

  constructor(transport: Transport) {
    this.transport = transport;
    this.hasStreams = 'handleRequest' in transport;
    this.overHttp = this.hasStreams || 'handlePostMessage' in transport;
  }

  /** `undefined` until both sides have said what they speak. */
  session(): Session | undefined {
    if (!this.#single) return this.#session;
    return this.#version === undefined ? undefined : sessionless(this.#version);
  }

  /** Who began the session; `undefined` where nobody can say. */
  get opener(): Principal | undefined {
    return this.#opener;
  }

  /** Whether it is this principal's session. Its id is no proof: it may have been told to others. */
  hears(principal: Principal): boolean {
    return this.#opener !== undefined && principalKey(this.#opener) === principalKey(principal);
  }

  /**
   * Tells that a request is cancelled, or that nobody will read its answer.
   * @param hangUp of its client. Only heeded on 2025-11-25, on which a stream says whether it can be gone on with
   */
  signalFor(own: AbortSignal, hangUp: AbortSignal | undefined): AbortSignal {
    const heeded = hangUp !== undefined && this.session()?.version === REVISION;
    return AbortSignal.any([this.#ended.signal, own, ...(heeded ? [hangUp] : [])]);
  }

  /** A message came. */
  note(message: unknown, { requestInfo, authInfo }: Extra, principalOf: (auth?: CallerAuth) => Principal | undefined) {
    const { transport } = this;
    if (requestInfo !== undefined) {
      this.overHttp = true;
      this.hasStreams = !('handlePostMessage' in transport);
    }
    this.#single = this.hasStreams && transport.sessionId === undefined;
    const version = requestInfo?.headers?.[VERSION_HEADER];
    this.#version = typeof version === 'string' ? version : undefined;
    const session = readInitialize(message, this.#id, []);
    if (session === undefined || !isJsonObject(message)) return;
    this.#opener = principalOf(authInfo);
    this.#greeting = { requestId: message.id as RequestId, session };
  }

  /** A message leaves. @returns whether it answers the `initialize` */
  settle(message: unknown): boolean {
    if (this.#greeting === undefined || !isJsonObject(message) || message.id !== this.#greeting.requestId) return false;
    const version = agreedVersion(message);
    if (version === undefined) return false;
    this.#session = { ...this.#greeting.session, version };
    this.#greeting = undefined;
    return true;
  }

  /** The connection has ended. */
  end(): void {
    this.#ended.abort(new ConnectionClosedError());
  }
}
