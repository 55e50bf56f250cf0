import type { JsonObject, JsonValue } from './json.ts';
import type { Principal } from './principal.ts';
import type { Answer, Question } from './question.ts';
import type { TaskId } from './random.ts';
import type { RpcErrorObject } from './state.ts';
import type { RequestorAbilities, TaskProgress } from './task.ts';

/** What the work behind an adapter can do. It does not change while the adapter lives. */
export interface JobCaps {
  /** `none`: a job runs to its end; `request`: it is asked to stop and may go on; `force`: it is made to stop. */
  cancel: 'none' | 'request' | 'force';
  /** `live`: lines can be read while it runs; `final`: only once it is over. */
  logs: 'none' | 'final' | 'live';
  /** A job may ask for something (`input` snapshots). */
  input: boolean;
  /** `changed` tells of news, so that polling is only the net and may be seldom. */
  push: boolean;
  /** `start` with an idempotency key that came before starts nothing new, and gives the same job. */
  idempotentStart: boolean;
  /**
   * The adapter itself cancels a job whose task ended without it, also one whose task ended while no process ran; nobody else
   * need look. @default false
   */
  endsWithTask?: boolean;
  /**
   * A job uses up the machine that its task runs on: the task keeps its slot as long as the job works, so that slots and
   * `concurrency` limit how many run at once. Without, long waits give the slot back. @default false
   */
  keepsSlot?: boolean;
  /**
   * A job needs nothing of this process: one that stops hands it over at once, instead of giving it time to finish. @default false
   */
  survives?: boolean;
}

/** Whose job it is, and what the adapter may use meanwhile. */
export interface JobContext {
  readonly taskId: TaskId;
  readonly principal: Principal;
  /** What the requestor of the task can be asked. */
  readonly abilities: RequestorAbilities;
  /** Which start of the task's job this is, from 1: grows only where a job that was lost is started again. */
  readonly startNumber: number;
  /**
   * The same for one start of one task, however often it is repeated, in every process; 24 characters of `A-Za-z0-9_-`. Nothing
   * can be read out of it: not the task's id either, which may be shown to nobody else.
   */
  readonly idempotencyKey: string;
  /** Aborted when the task is over, or goes on later or elsewhere; then stop what is being done here, not the job. */
  readonly signal: AbortSignal;
  /** Of the request that made the task. @see W3C Trace Context */
  readonly traceparent: string | undefined;
  /** What the tool's `prepare` hook handed over. */
  readonly prepared: JsonValue | undefined;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** A line for the task's log, of the adapter's own. */
  log(text: string, level?: 'debug' | 'info' | 'warning' | 'error'): void;
}

/** Where a job stands. Words in it are the job's own: data, never instructions. */
export type JobSnapshot =
  | {
      state: 'working';
      message?: string;
      progress?: TaskProgress;
      /** Not to be asked again sooner, in milliseconds (a service's Retry-After). @default grows with the job's age */
      nextPollMs?: number;
      /** How long whoever looks at the task is to wait between looks, in milliseconds, where that is longer than it would be. */
      pollHintMs?: number;
      /** What it is known by from now on, where that is told later than at its start: once in its life. */
      ref?: JsonValue;
    }
  | {
      /** It waits for answers. */
      state: 'input';
      /**
       * What has no answer yet; a key stands for one question as long as the job lives. Absent: that cannot be told now, and what was
       * asked before stays open.
       */
      questions?: Readonly<Record<string, Question>>;
      message?: string;
      progress?: TaskProgress;
      nextPollMs?: number;
      /** How long whoever looks at the task is to wait between looks, in milliseconds, where that is longer than it would be. */
      pollHintMs?: number;
    }
  | JobEnd;

/** How a job ended. It does not change any more. */
export type JobEnd =
  /** `result` is the tool's result, as it goes out; of an `error`, with whatever says so in it. */
  | { state: 'done'; outcome: 'ok' | 'error'; result: JsonObject }
  /** The request was answered with an error of the protocol, which goes out as it is. */
  | { state: 'done'; outcome: 'error'; error: RpcErrorObject }
  /** It was cancelled where it ran. */
  | { state: 'cancelled'; message?: string }
  /**
   * What became of it cannot be learnt (404, deleted, its process died with this machine). `message` says what is known, in words
   * without a full stop. `effect`: whether it can have done anything. @default 'maybe'
   */
  | { state: 'lost'; message: string; effect?: 'none' | 'maybe' };

export interface JobLogLine {
  text: string;
  /** @default 'info' */
  level?: 'debug' | 'info' | 'warning' | 'error';
  /** When it was written, in milliseconds since the Unix epoch. @default when it was read */
  at?: number;
  /** Where a process wrote it. Its text is kept as it was written, control characters included: who shows it takes them out. */
  stream?: 'stdout' | 'stderr';
}

export interface JobLogPage {
  lines: JobLogLine[];
  /** Where the next page begins: the adapter's own, kept as it is. */
  cursor: string;
  /** Nothing will follow. */
  eof: boolean;
}

/** What may have news. */
export interface JobHint<Ref extends JsonValue> {
  ref?: Ref extends JsonObject ? Partial<Ref> : Ref;
  idempotencyKey?: string;
}

/**
 * Work that runs somewhere else and goes on by itself: a call of another server, a process, an operation of a service. The engine
 * starts it, records what it is known by, polls it, passes its questions on, and cancels it with its task.
 *
 * An adapter keeps nothing in memory that matters: any process may call any method, with a `ref` that another one recorded.
 *
 * Methods throw when they cannot tell or cannot reach it now; the engine tries again, with growing waits, as long as the task has
 * time. An error with a numeric `retryAfterMs` (HTTP 429 and 5xx with Retry-After) is not tried again sooner than that. What can
 * be told for good is no error but a snapshot.
 */
export interface JobAdapter<Args, Ref extends JsonValue> {
  /** What kind of work it is, in a word, e.g. `mcp`. */
  readonly kind: string;
  readonly caps: JobCaps;
  /**
   * What a job started under `context.idempotencyKey` will be known by, where that follows from the key. Such a job needs no
   * record before it starts. `start` has to return the same.
   */
  refOf?(context: JobContext): Ref;
  /**
   * Starts a job, or finds the one of this key where `caps.idempotentStart`. Resolves once the job will go on without us.
   *
   * After an error it is tried again where that is safe: with `caps.idempotentStart`, after `find` has found none, or where the
   * error has `mayHaveStarted: false` (the connection was refused; 429). Else the job is lost, and the task told so.
   * @throws {NonRetryableError} when nothing was started and never will be; the task fails with its message. So it does, as it is,
   * with an error that has a whole number as its `code`: a JSON-RPC error.
   * @returns what it is known by from now on, and where it stands, if that is known already
   */
  start(args: Args, context: JobContext): Promise<{ ref: Ref; snapshot?: JobSnapshot }>;
  /**
   * The job that was started under `context.idempotencyKey` by a process that could not record its ref. `undefined`: there is none
   * for certain. A service that may show it late waits that long, or throws until it can tell.
   * @param since when it was last tried to start it, in milliseconds since the Unix epoch. @default now
   */
  find?(args: Args, context: JobContext, since?: number): Promise<Ref | undefined>;
  /** Where the job stands. A job that is not there (any more) is `lost`; one that may not be shown yet is `working`. */
  poll(ref: Ref, context: JobContext): Promise<JobSnapshot>;
  /** Resolves when a poll is worthwhile, also if there is no news; rejects with the signal's reason, or not at all. */
  changed?(ref: Ref, context: JobContext): Promise<void>;
  /**
   * Asks it to stop, or makes it. Resolves once that is certain to have arrived, also where the job is over or gone. May be called
   * again, and after the task is over: then `context.signal` belongs to nothing.
   */
  cancel?(ref: Ref, context: JobContext): Promise<void>;
  /** Lines from `cursor` on; `undefined`: from the beginning. */
  logs?(ref: Ref, cursor: string | undefined, context: JobContext): Promise<JobLogPage>;
  /**
   * Hands over the answer to an open question. Comes again, the same, where an earlier try threw or its process died: what has its
   * answer already is no error.
   * @throws {NonRetryableError} when this answer will never be taken.
   */
  answer?(ref: Ref, key: string, answer: Answer, context: JobContext): Promise<void>;
  /** The end of the job is on record here: nothing of it is asked for any more. May come late, twice, or never. */
  release?(ref: Ref, context: JobContext): Promise<void>;
  /**
   * What a request from the service seems to be about: a hint to poll now, and never believed otherwise. Of a `ref` that is an object,
   * what is known: it means every job whose own has the same members. `[]`: it is not authentic; `[{}]`: it is, and about nothing.
   */
  webhook?(request: Request): Promise<JobHint<Ref>[]>;
}
