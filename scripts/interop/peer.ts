import type { ScenarioName } from './scenarios.ts';
import type { ServerOptions, Site, TransportName } from './site.ts';

export type Json = Record<string, unknown>;

/** How a call ended, in words that all clients have in common. */
export type Outcome =
  | { status: 'result'; result: Json }
  | { status: 'error'; code: number | undefined; message: string }
  | { status: 'cancelled' };

export interface Hooks {
  /** Whatever the client is told about how far the task is: `1/3`, or text that begins so. */
  onProgress?: (text: string) => void;
  /** Answers a question with the content of its form. */
  onQuestion?: (message: string) => Json;
}

/** A call that has become a task. */
export interface Followed {
  /** Unless the client keeps it to itself. */
  taskId: string | undefined;
  /** Rejects when the client gives up. */
  outcome: Promise<Outcome>;
  cancel(): Promise<void>;
}

/** A client that somebody else wrote, connected; each method is what its own API has for it. */
export interface Peer {
  call(tool: string, args: Json): Promise<Outcome>;
  /** Resolves as soon as the client knows of the task. */
  start(tool: string, args: Json, hooks?: Hooks): Promise<Followed>;
  /** Finds a task by its id and waits for its end. */
  outcome(taskId: string): Promise<Outcome>;
  list(): Promise<{ taskId: string; status: string }[]>;
  close(): Promise<void>;
}

export interface PeerKind {
  /** Package, version, revision. */
  name: string;
  /** It takes part in tasks as a protocol, and does not just read what a call says about them. */
  native: boolean;
  /** It passes the text of a result on, or of one that reports a failure, and nothing else. */
  tellsOnlyText?: 'of all' | 'of failures';
  /** A connection that breaks during a request ends the whole client, over HTTP too: who goes on needs a new one. */
  endsWithServer?: boolean;
  server?: ServerOptions;
  /** @default all */
  transports?: readonly TransportName[];
  /** @default all */
  scenarios?: readonly ScenarioName[];
  /**
   * Fetches and builds what it takes to connect; until then, `connect` waits for it.
   * @throws {NotInstallableError} where this machine cannot
   */
  prepare?(): Promise<unknown>;
  connect(site: Site): Promise<Peer>;
}

/** What a client threw, as an outcome. @throws what is no answer of the server */
export function refused(error: unknown): Outcome {
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code !== 'number') throw error;
  return { status: 'error', code, message: String(message) };
}

export function resultOf(result: unknown): Outcome {
  return { status: 'result', result: result as Json };
}

/** What a client may wait for an answer, in milliseconds; scenarios end sooner. */
export const PATIENCE_MS = 60_000;

export const CLIENT_INFO = { name: 'longcall-interop', version: '1.0.0' };
