import type { Readable, Writable } from 'node:stream';
import type { JsonObject, Logger } from '../../core/index.ts';
import type { Hello } from './hello.ts';

/** One front as it is served. */
export interface ServedFront {
  /** Resolves when its connection has ended, whoever ended it. */
  closed: Promise<void>;
  /** Ends its connection, and nothing else. */
  close(): Promise<void>;
  /** By which its upstream is known here. */
  name?: string;
  /** What its host calls itself, once it has said so. */
  client?(): string | undefined;
}

export type ServeFront = (hello: Hello, streams: { input: Readable; output: Writable }) => ServedFront;

/** What a daemon is for: the gateway. */
export interface DaemonBackend {
  serve: ServeFront;
  /** Whether anything is open that has to go on without a front. */
  busy(): Promise<boolean>;
  /** For operators; `openTasks`, if it is a number, is shown to people too. */
  status(): Promise<JsonObject>;
  /** Hands over what is open and lets go of everything. */
  close(): Promise<void>;
}

/** Opens it in the daemon's folder, which is this user's alone. */
export type OpenBackend = (options: { folder: string; logger: Logger }) => Promise<DaemonBackend>;
