import type { JsonObject } from '../../core/index.ts';
import type { SelfPortrait } from '../../wire/relayed.ts';
import type { Caller } from '../caller.ts';

/** A tool of another server, as a caller sees it. */
export interface FrontTool {
  /** As it is listed, under the name by which it is called here. */
  listing: JsonObject;
  /**
   * Answers a call without a task. Absent: the tool is registered with the tasks under the same name, and is called as one of
   * those.
   * @throws an error with an integer `code`: the JSON-RPC error that the call is answered with
   */
  relay?: ((call: FrontCall) => Promise<JsonObject>) | undefined;
}

/** A request that another server is to answer. */
export interface FrontCall {
  params: JsonObject;
  caller: Caller;
  /** Of its session; empty where there is none. */
  sessionId: string;
  /** Of the request's `_meta`: what is for whoever answers it. */
  meta: JsonObject;
  /** Answers and state that a repeated call of 2026-07-28 brings. */
  round: JsonObject;
  signal: AbortSignal;
  /** Where the caller asked for progress. */
  onProgress?: (params: JsonObject) => void;
  /** Tells something on the stream of the request. */
  notify(method: string, params: JsonObject): Promise<void>;
  /** Asks the caller, while the request waits. Absent on 2026-07-28, where only an answer can ask. */
  ask?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
}

/** What other servers offer to one caller. */
export interface FrontView {
  portrait: SelfPortrait;
  /** In the order in which they are listed. */
  tools: ReadonlyMap<string, FrontTool>;
  /**
   * Answers a request that is about no tool and no task.
   * @returns undefined: there is no such method
   */
  serve(method: string, call: FrontCall): Promise<JsonObject | undefined>;
}

/** A connection that lasts for longer than a request, and whose messages all go one way. */
export interface FrontConnection {
  /** Undefined until the client has said who it is, and on 2026-07-28, where only requests do. */
  caller(): Caller | undefined;
  sessionId(): string;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Asks the client. Absent on 2026-07-28. */
  ask?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
}

/** Other servers, as they stand behind this one. */
export interface Front {
  /** @throws whatever a caller is to be told when they cannot be reached */
  view(caller: Caller): Promise<FrontView>;
  /** @returns to be called when the connection has ended */
  connected?(connection: FrontConnection): () => void;
  /** A notification of a client's that concerns no request: its roots have changed. */
  notified?(method: string, caller: Caller): void;
}
