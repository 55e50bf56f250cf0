import type { JsonObject } from '../../core/index.ts';
import type { Era, SelfPortrait } from '../../wire/relayed.ts';
import type { Caller } from '../caller.ts';

/** A tool of another server, as a caller sees it. */
export interface FrontTool {
  /** As it is listed, under the name by which it is called here. */
  listing: JsonObject;
  /** The tool of ours that does the work as a task: its name among the tasks. */
  task?: string;
  /**
   * Answers a call without a task. One of the two is there.
   * @throws {TaskNeededError} where the other server turns out to run it as a task only; nothing was done
   * @throws an error with an integer `code`: the JSON-RPC error that the call is answered with
   */
  relay?: (call: FrontCall) => Promise<JsonObject>;
}

/** The call was refused because it can only be a task. */
export class TaskNeededError extends Error {
  override readonly name = 'TaskNeededError';
  /** The tool of ours that does the work as one. */
  readonly task: string;

  constructor(task: string) {
    super(`${task} runs as a task only`);
    this.task = task;
  }
}

/** A request that another server is to answer. */
export interface FrontCall {
  params: JsonObject;
  /** Of the caller: whether its requests say everything themselves, or belong to a session. */
  era: Era;
  caller: Caller;
  /** The credentials that came with the request, as they came. */
  authorization: string | undefined;
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

/** Who looks. */
export interface FrontAsker {
  caller: Caller;
  era: Era;
  /** Its session can have tasks, by 2025-11-25. */
  knowsTasks: boolean;
  /** The credentials that came with the request, as they came. */
  authorization: string | undefined;
  /** On which the caller is, if it lasts for longer than a request: it is told what changes. */
  connection: FrontConnection | undefined;
}

/** A connection that lasts for longer than a request, and whose messages all go one way. */
export interface FrontConnection {
  /** Empty until the client has said who it is, and on 2026-07-28. */
  sessionId(): string;
  notify(method: string, params: JsonObject): Promise<void>;
  /** Asks the client. Absent on 2026-07-28. */
  ask?: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
}

/** Other servers, as they stand behind this one. */
export interface Front {
  /**
   * @throws whatever a caller is to be told when they cannot be reached
   */
  view(asker: FrontAsker): Promise<FrontView>;
  /** Under which name a tool of ours is listed; undefined: under none. */
  shownAs(task: string): string | undefined;
  /** Whether calls of a tool are tasks, so that one which comes again is found by its key. */
  keyed(name: string): boolean;
  /** A connection that views were asked for has ended. */
  left(connection: FrontConnection): void;
  /** A notification of a client's that is about no request: its roots have changed. */
  notified(method: string, caller: Caller): void;
}
