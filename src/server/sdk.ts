import type { RoundCarrier } from '../wire/rev2026-07-28/index.ts';
import type { CallerAuth } from './principal.ts';

// What the official SDKs of both versions have in common, as far as the code that serves tasks on either of them looks at
// it. Their own types fit these, so that neither package is needed by who has the other.

export type RequestId = string | number;

export type JSONRPCMessage =
  | { jsonrpc: '2.0'; id: RequestId; method: string; params?: Record<string, unknown> | undefined }
  | { jsonrpc: '2.0'; method: string; params?: Record<string, unknown> | undefined }
  | { jsonrpc: '2.0'; id: RequestId; result: Record<string, unknown> }
  | { jsonrpc: '2.0'; id?: RequestId | undefined; error: { code: number; message: string; data?: unknown } };

export interface TransportSendOptions {
  /** The request on whose stream a message goes out, where requests have streams of their own. */
  relatedRequestId?: RequestId | undefined;
}

/** What else a transport knows of a message. */
export interface MessageExtraInfo {
  authInfo?: CallerAuth | undefined;
  /** Over HTTP. */
  request?: Request | undefined;
}

/** As a method, which also stands for a function that takes messages as its SDK types them. */
interface Listener {
  heard(message: JSONRPCMessage, extra?: MessageExtraInfo): void;
}

export interface Transport {
  start(): Promise<void>;
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  close(): Promise<void>;
  /** Of a transport that serves one session over HTTP. */
  sessionId?: string | undefined;
  onclose?: (() => void) | undefined;
  onmessage?: Listener['heard'] | undefined;
}

/** A request that is being served. */
export interface ServerContext {
  /** On 2026-07-28 also what earlier rounds of it left behind. */
  mcpReq: RoundCarrier & {
    id: RequestId;
    _meta?: { progressToken?: RequestId | undefined; [key: string]: unknown } | undefined;
    /** What requests of 2026-07-28 say of their client. */
    envelope?: unknown;
    signal: AbortSignal;
    /** On the stream of the request. */
    notify(notification: { method: string; params?: Record<string, unknown> }): Promise<void>;
  };
  http?: { authInfo?: CallerAuth | undefined; req?: Request | undefined } | undefined;
}

/** What a tool answers. */
export interface CallToolResult {
  content: { type: string; [member: string]: unknown }[];
  isError?: boolean | undefined;
  [member: string]: unknown;
}

const CONNECTION_CLOSED = 'CONNECTION_CLOSED';

/** Why a request is broken off whose connection has ended, where the SDK does not say so itself. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError';
  readonly code = CONNECTION_CLOSED;
  constructor() {
    super('the connection is closed');
  }
}

/** A connection that ended, rather than a request that was cancelled. */
export function isConnectionClosed(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && reason.code === CONNECTION_CLOSED;
}
