import type {
  Answer,
  Clock,
  JsonValue,
  Logger,
  NewTask,
  Principal,
  Question,
  RandomSource,
  TaskId,
  TaskProgress,
  TaskRecord,
  TaskStatus,
  TerminalState,
  WorkerLostRule,
} from '../core/index.ts';
import type { OperatorStore } from './operator-store.ts';

/** The right to work on a task until `leaseUntil`. Every write of a worker carries it. */
export interface Lease {
  taskId: TaskId;
  workerId: string;
  /** Grows with every lease of the task; a write under an older one changes nothing. */
  fence: number;
  attempt: number;
  /** Milliseconds since the Unix epoch, by the clock of the store's machine. */
  leaseUntil: number;
}

/** A lease together with everything a handler needs to start, or start again. */
export interface ClaimedTask {
  lease: Lease;
  task: TaskRecord;
  input: JsonValue;
  prepared?: JsonValue;
  abilities: NewTask['abilities'];
  timeoutMs?: number;
  /** Milliseconds of active time that earlier leases used up. */
  activeMs: number;
  /** The tool's version when the task was created. */
  toolVersion?: string;
  /** Of the request that made the task. @see W3C Trace Context */
  traceparent?: string;
}

/** How a lease ends before its task does. */
export type Release =
  /**
   * Waits for an answer, or for `wakeAt`, whichever comes first. `questions` are those the handler still waited for: where
   * one of them has its answer by now, the task is ready at once. The attempt is given back.
   */
  | { to: 'parked'; wakeAt?: number; questions?: readonly string[] }
  /** Somebody else may go on, at once or from `availableAt` on. The attempt is given back. */
  | { to: 'ready'; availableAt?: number }
  /** The attempt failed and another may begin at `availableAt`. The attempt is spent. */
  | { to: 'retry'; availableAt: number; error: string };

/** One lease of a task, in hindsight. */
export interface PastAttempt {
  fence: number;
  attempt: number;
  worker: string;
  startedAt: number;
  endedAt?: number;
  outcome?: string;
  error?: string;
  /** The key that the error is encrypted with, where it does not open here. */
  sealed?: string[];
}

export interface RecordedStep {
  key: string;
  name: string;
  /** JSON text of the value; null where the step returned nothing. */
  body: string | null;
  /** JSON text of the final error the step threw instead. */
  error?: string;
}

/** What is recorded of a step. */
export interface NewStep {
  key: string;
  name: string;
  ordinal: number;
  /** Its place among all records of the task. */
  seq: number;
  body: string | null;
  error?: string;
  /**
   * How far something is, rather than what came of it: a later record takes the place of the one before, lazily. Not for what a run
   * may go on from, unless it is `durable`.
   */
  replaces?: boolean;
  /** With `replaces`: on disk before it is answered, as records are that replace nothing. @default false */
  durable?: boolean;
}

export interface RecordedQuestion {
  key: string;
  question: Question;
  answer?: Answer;
  /** When the question stops waiting, in milliseconds since the Unix epoch. */
  deadline?: number;
}

/** What earlier runs of a handler left behind. */
export interface History {
  steps: RecordedStep[];
  questions: RecordedQuestion[];
}

export interface LogEntry {
  level: 'debug' | 'info' | 'warning' | 'error';
  /** As it was written: control characters included. */
  text: string;
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** Where a process wrote it; absent: it was logged. */
  stream?: 'stdout' | 'stderr';
}

/** A line of a log as it is read; `dropped`: it only says that so many bytes were dropped where it stands. */
export type LogLine = LogEntry & { dropped?: number };

/** Some lines of a log, oldest first. */
export interface LogPage {
  lines: LogLine[];
  /** Where the next page begins: a position in bytes, which dropping lines does not move. */
  cursor: number;
  /** Nothing followed when this was read. */
  atEnd: boolean;
}

/** What a worker says of its task on the way. */
export interface TaskReport {
  progress?: TaskProgress;
  statusMessage?: string;
  waiting?: boolean;
  /** How long whoever looks at the task is to wait between looks, in milliseconds. */
  pollIntervalMs?: number;
}

/** Where a task stands, as cheap to read as anything can be. */
export interface TaskPulse {
  taskId: TaskId;
  status: TaskStatus;
  fence: number;
  version: number;
}

/** A leased task whose worker is dead, or let the lease run out. */
export interface LostLease {
  /**
   * What is known of its worker. One that is `alive` though its lease ran out (a blocked event loop, a machine that
   * slept, a clock that jumped) deserves a moment to renew it.
   */
  worker: 'dead' | 'alive' | 'unknown';
  taskId: TaskId;
  fence: number;
  attempt: number;
  maxAttempts: number;
  rule: WorkerLostRule;
  hasRecords: boolean;
  workerId: string;
}

export type ClaimOptions = { workerId: string; leaseMs: number };
export type CreateOptions = {
  /** Lease the new task to this worker in the same commit, so that it starts without another round. */
  claim?: ClaimOptions;
  /** The same key again is the same task; with `whileOpen` only until that task is over. */
  idempotency?: { key: string; requestHash: string; whileOpen?: boolean; repeatAgeMs?: number };
  /** Refuse when the principal already has this many open tasks. */
  maxOpenTasks?: number;
};

export type Created = {
  task: TaskRecord;
  /** `existing`: the idempotency key had been used with the same request before. */
  outcome: 'created' | 'existing';
  claimed?: ClaimedTask;
};

/** What a fenced write came to: `lost` means a higher fence owns the task, or it is over: stop working on it. */
export type Applied = 'applied' | 'refused' | 'lost';

/**
 * The one seam between the engine and what keeps tasks. Every backend passes the one suite in src/testing.
 *
 * Methods resolve when their effect is durable, except where they say "lazily": those are visible at once but may be
 * gone after a power cut, together with every process that could have noticed.
 * @throws {StoreUnavailableError} from every method when the store cannot be written or read right now.
 * @throws {StoreSealedError} from methods that read or write payloads, when these are encrypted and the key is not here.
 */
export interface TaskStore extends OperatorStore, AsyncDisposable {
  /**
   * Resolves once the task is durable: from then on `get` finds it (SEP-2663, "Task Creation").
   * @throws {IdempotencyConflictError} when the key was used with another request.
   * @throws {LimitExceededError} when the principal has `maxOpenTasks` open.
   * @throws {TaskIdTakenError} when the principal has a task with this `requestorTaskId`.
   */
  create(task: NewTask, options?: CreateOptions): Promise<Created>;
  /** The task that this principal itself calls so, if there is one; it may be gone already. */
  findByRequestorId(requestorTaskId: string, principal: Principal): Promise<TaskId | undefined>;
  /** `undefined` when unknown, expired or another principal's; the caller can't tell which, on purpose. */
  get(taskId: TaskId, principal: Principal): Promise<TaskRecord | undefined>;
  /**
   * Leases those of `taskIds` that are ready; each lease has a higher fence than any before it. What cannot be decrypted here
   * is not leased, and left to other processes for a while.
   */
  claim(taskIds: readonly TaskId[], options: ClaimOptions): Promise<ClaimedTask[]>;
  /** Extends leases; the result names those that are lost. Lazily. */
  renew(leases: readonly Lease[], leaseMs: number): Promise<TaskId[]>;
  /** Steps and questions recorded for the task so far. */
  history(taskId: TaskId): Promise<History>;
  /** Where tasks stand, in no particular order; unknown ones are left out. */
  pulses(taskIds: readonly TaskId[]): Promise<TaskPulse[]>;
  /** Ends the task while `lease` holds. `refused` never happens to a lease that holds. */
  finish(lease: Lease, outcome: TerminalState): Promise<Applied>;
  /** Ends the lease but not the task; `activeMs` is how long its handler worked, waiting not counted. */
  release(lease: Lease, how: Release, activeMs: number): Promise<Applied>;
  /** Records what a step returned, or its final error. A second record under one key is refused, unless it `replaces`. */
  recordStep(lease: Lease, step: NewStep): Promise<Applied>;
  /** Records a question and makes the task wait for it. Asking again under a recorded key changes nothing. */
  ask(lease: Lease, key: string, question: Question, deadline?: number): Promise<Applied>;
  /** Closes a question whose deadline has passed; one that was answered before stays answered. */
  expireQuestion(lease: Lease, key: string): Promise<Applied>;
  /** Closes a question that nobody needs the answer to any more, as one whose deadline passed. */
  withdrawQuestion(lease: Lease, key: string): Promise<Applied>;
  /** Notes something worth knowing in the task's record. */
  note(lease: Lease, type: string, body: JsonValue): Promise<Applied>;
  /** What a task that waits for a time waited for is there: it is ready at once. False: it does not wait for one. */
  wake(taskId: TaskId): Promise<boolean>;
  /** The leases the task has had, oldest first. */
  pastAttempts(taskId: TaskId): Promise<PastAttempt[]>;
  /**
   * The latest progress and status message, lazily. `waiting`: the task waits for something of which no recorded question
   * tells, or does so no more; questions that are open keep it waiting all the same.
   */
  report(lease: Lease, report: TaskReport): Promise<Applied>;
  /**
   * Appends to the task's log, lazily. Of a log that grows beyond `maxBytes` (50 MiB, where nothing is said) the first and
   * the last half are kept; of a line, the first 64 KiB.
   */
  appendLog(lease: Lease, entries: readonly LogEntry[], maxBytes?: number): Promise<Applied>;
  /**
   * Whole lines of the task's log from `cursor` on, about `limitBytes` of them and at least one. The beginning is 0; a
   * negative cursor counts from the end, to the next line that begins there. `undefined` for an unknown task.
   */
  readLog(taskId: TaskId, cursor: number, limitBytes: number): Promise<LogPage | undefined>;
  /** Questions of the task that have no answer yet. `undefined` as for `get`. */
  openQuestions(taskId: TaskId, principal: Principal): Promise<RecordedQuestion[] | undefined>;
  /**
   * Records answers to open questions; keys that are not open are left out of the result and change nothing. Once
   * nothing is open the task is `working` again, and ready if it was parked.
   */
  answer(taskId: TaskId, principal: Principal, answers: ReadonlyMap<string, Answer>): Promise<string[] | undefined>;
  /** Decides the cancel at once, whoever works on the task. `undefined` as for `get`. */
  cancel(taskId: TaskId, principal: Principal, reason?: string): Promise<'cancelled' | 'already_terminal' | undefined>;
  /** One request for the task broke off. As `cancel`, unless there were more, under its idempotency key. */
  cancelOrphan(
    taskId: TaskId,
    principal: Principal,
    reason: string,
  ): Promise<'cancelled' | 'already_terminal' | undefined>;
  /**
   * Says that a worker of this process lives, until `resign` or the end of the process: where the machine can prove it,
   * others need not wait for its leases to run out.
   * @returns the id to lease tasks under
   */
  enlist(workerId: string): Promise<{ workerId: string; resign(): void }>;
  /** Leases that ran out, of whichever worker, and leases of workers that are proven dead. */
  lostLeases(limit: number): Promise<LostLease[]>;
  /**
   * Takes a lost task from its worker: ready again, or over. `lost` if somebody else was quicker, its worker renewed the
   * lease, or what `lost.hasRecords` says no longer holds and the decision has to be made anew.
   */
  recover(
    lost: LostLease,
    decision: { action: 'run_again' } | { action: 'fail'; outcome: TerminalState },
  ): Promise<Applied>;
  /** Ends open tasks whose TTL is over and deletes terminal ones past their time; at most `limit` of each. */
  sweep(limit: number, expired: TerminalState, graceMs: number): Promise<{ expired: TaskId[]; deleted: number }>;
  /** 32 random bytes that belong to the store: the same for every process on it, made when first asked for. */
  secret(): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface TakeOptions {
  limit: number;
  /** What may run now, as `workName` names it: tools by their names. */
  names: readonly string[];
}

export interface Taken {
  /** A fair share for each principal, oldest first within each. */
  tasks: { taskId: TaskId; name: string; principal: Principal }[];
  /** When the next task becomes ready, in milliseconds since the Unix epoch. */
  nextAt?: number;
}

/**
 * Brings ready tasks to workers. The task row is the truth and this is a doorbell: whatever it says may be stale,
 * repeated or late, and `TaskStore.claim` decides.
 */
export interface Dispatcher {
  /** At most `limit` tasks of those tools that look ready, and when to look again if nothing rings before. */
  take(options: TakeOptions): Promise<Taken>;
  /**
   * Calls back after something was committed, here or in another process. The set names the tasks that changed; without
   * it, any may have. Returns the function that ends the subscription.
   */
  onBell(listener: (changed: ReadonlySet<TaskId> | undefined) => void): () => void;
}

export interface StoreEnvironment {
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

/** A place to keep tasks, not opened yet. */
export interface StoreBackend {
  /**
   * Opens the store and brings its schema up to date.
   * @throws {StoreRefusedError} when what is there must not be opened; the message says why and what to do.
   */
  open(environment: StoreEnvironment): Promise<{ store: TaskStore; dispatcher: Dispatcher }>;
}
