import type { LockProbe } from '../../../store/sqlite/lock-probe.ts';
import type { StoreLook } from '../../../store/sqlite/look.ts';

/** How an upstream does tasks of its own. */
export type Generation = '2026-07-28' | '2025-11-25' | 'SEP-1686' | 'companions' | 'misdeclared' | 'none';

/** One upstream that was named, and what became of looking at it. Nothing in it is secret. */
export interface UpstreamFacts {
  name: string;
  /** What named it: a file, or the command line. */
  from: string;
  /** Its command or address. */
  target: string;
  /** `gateway`: it stands behind the gateway as it is named; `host`: a host reaches it without us. */
  named: 'gateway' | 'host';
  /** The version of longcall that its host runs for it, where the host's file says so. */
  longcall?: string;
  /** Absent: it was not reached, for the reason in `trouble`. */
  reached?: ReachedFacts;
  trouble?: string;
  /** What it printed last for people. */
  stderr: string[];
}

export interface ReachedFacts {
  /** The protocol version agreed on. */
  protocol: string;
  server: { name: string; version: string };
  generation: Generation;
  tools: number;
  /** How its tools are served by the gateway; `hidden`: callers do not see them. */
  served: { task: number; direct: number; auto: number; hidden: number };
  /** It is asked for tasks by the first draft, if it has none by a later text. */
  firstDraft: boolean;
  /** Of those served as `task`, how many would fail when their call is lost, as they may not run twice. */
  failWhenLost: number;
  connectMs: number;
  /** The median of a few cheap requests; undefined: none was answered. */
  requestMs?: number;
  /** It left the question for its revision without an answer, until it was taken for an old one. */
  silentOnProbe: boolean;
  /** It had to be started twice: it ends when it is asked for its revision. */
  endsOnProbe: boolean;
  /** Lines on its standard output that are no messages. */
  noise: number;
  /** Processes that it left behind. */
  escaped: number;
}

/** A command that is a tool of the gateway's own. Nothing in it is secret. */
export interface CommandFacts {
  name: string;
  /** The file that has it. */
  from: string;
  /** As the file has it. */
  program: string;
  /** The file that would be started; absent: there is none. */
  found?: string;
  /** Where it would be started in, if that is not there. */
  missingFolder?: string;
}

/** An API that is a tool of the gateway's own. Nothing in it is secret. */
export interface ApiFacts {
  name: string;
  /** The file that has it. */
  from: string;
  /** Where its jobs are started. */
  origin: string;
  /** Why it cannot be asked. */
  trouble?: string;
}

/** A client that the daemon has seen. */
export interface ClientFacts {
  name: string;
  version?: string;
  protocol: string;
  tasks: 'extension' | 'session' | 'none';
  asks: string[];
  lastSeenAt: number;
}

export type DaemonFacts =
  | { running: false; trouble?: string }
  | {
      running: true;
      pid: number;
      version: string;
      startedAt: number;
      hosts: number;
      openTasks: number;
      /** Upstreams that somebody has named since it started. */
      upstreams: string[];
      clients: ClientFacts[];
    };

export interface MachineFacts {
  node: string;
  /** What the package asks for. */
  wantedNode: string;
  longcall: string;
  sqlite: string;
  platform: string;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** How much the wall clock went otherwise than the monotonic one while this looked, in milliseconds. */
  clockJumpMs: number;
}

export interface StateFacts {
  folder: string;
  exists: boolean;
  /** Whose the folder is to be: the daemon refuses one that others can open. */
  of: 'daemon' | 'gateway';
  /** Why the daemon would not use it. */
  refused?: string;
  writable: boolean;
  /** Free for this user, where the folder is or is to be. */
  freeBytes: number;
  /** Of a file system that is not a plain local disk. */
  fileSystem?: { name: string; kind: 'network' | 'memory' | 'container' };
  /** Absent: it was not tried, as the folder is not there or not ours. */
  locks?: LockProbe;
  fsync?: { ms: number } | { failed: string };
  /** In bytes. */
  sizes: { tasks: number; calls: number; log: number };
  store?: StoreLook;
  /** Why the tasks cannot be read. */
  unreadable?: string;
}

/** All that was found. Judged by pure functions, apart from how it was found. */
export interface Facts {
  upstreams: UpstreamFacts[];
  commands: CommandFacts[];
  apis: ApiFacts[];
  daemon: DaemonFacts;
  machine: MachineFacts;
  state: StateFacts;
  /** Upstreams of a gateway's file: their tasks wait for `longcall serve`. */
  configured?: string[];
}
