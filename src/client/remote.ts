import type { Answer, JsonObject, Question, TaskProgress } from '../core/index.ts';
import type { Outcome, PeerStatus, PeerTask } from '../wire/peer-task.ts';
import type { PeerTool } from '../wire/peer-tool.ts';
import type { TaskLogPage } from '../wire/task-log.ts';
import type { Link } from './link.ts';

export type { Outcome };
export type RemoteStatus = PeerStatus;
/** A task as its server tells it, in one form for every revision. */
export type RemoteTask = PeerTask;
/** A tool as its server lists it. */
export type RemoteTool = PeerTool;

/** How a server says what its tasks are; `none`: it has none, and every call is answered when it is over. */
export type RemoteRevision = '2026-07-28' | '2025-11-25' | 'SEP-1686' | 'companions' | 'none';

export type Started = { kind: 'immediate'; outcome: Outcome } | { kind: 'task'; task: RemoteTask };

export interface StartRequest {
  name: string;
  arguments: JsonObject;
  /** Sent only where the server is `repeatable`. */
  idempotencyKey: string;
  /**
   * It may have arrived before, and was made so many milliseconds ago: a server that would not find it by its key if it had is to refuse
   * it. Absent: it has certainly not.
   */
  repeatAgeMs?: number;
  /** How long the task should be kept, in milliseconds from its creation; a wish, and only of some revisions. */
  ttlMs?: number;
  /** Tasks of this server that the host thinks the call has to do with; advice, and only of some revisions. */
  relatedTaskIds?: readonly string[];
  /** The trace it belongs to. @see W3C Trace Context */
  traceparent?: string;
  /** Sent in `_meta`, beside what the revision puts there. */
  meta?: JsonObject;
  /** Gives up waiting for the answer; cancels nothing by itself. */
  signal?: AbortSignal;
  /**
   * Aborted: the call is to be cancelled. One that has no task, and is not answered, is taken back; whatever became of it then, its
   * outcome is `cancelled`.
   */
  unwanted?: AbortSignal;
  /** What the server says before it answers. */
  onProgress?: (progress: TaskProgress) => void;
}

/** Whose call asks: for showing where a question comes from. */
export interface AskedBy {
  id: string;
  server: string;
  tool: string;
  /** What the host keeps with the call. */
  note?: JsonObject;
}

/** Asked by the server while a task or call waits; the answer goes back the way the question came. */
export type OnQuestion = (asked: {
  taskId: string | undefined;
  /** The call that waits for the answer, where one of a journal is known to. */
  call?: AskedBy;
  question: Question;
  /** Aborts when the server takes the question back, or nobody waits for the answer any more. */
  signal: AbortSignal;
}) => Promise<Answer>;

/**
 * One server as a client of ours sees it, whatever generation of tasks it speaks. Nothing of it is durable.
 *
 * Methods throw one of: `RemoteRefusedError` (the request was refused: code, data), `RemoteGoneError` (the task is unknown,
 * expired or somebody else's), `RemoteUnreachableError` (no answer; trying again later may help), `RemoteProtocolError`
 * (the peer broke the protocol; trying again does not help), or the reason of the signal they were given.
 */
export interface Remote extends AsyncDisposable {
  readonly revision: RemoteRevision;
  /** Whether the server honours idempotency keys: only then may a call whose answer was lost be sent again. */
  readonly repeatable: boolean;
  /** Shown with questions: where the server is, and the name it gives itself. */
  readonly origin: string;
  /** What the server has beside tools, as it is. Absent where the remote is no connection of ours. */
  readonly link?: Link;
  /** All tools, as the server lists them now. */
  listTools(options?: { signal?: AbortSignal }): Promise<RemoteTool[]>;
  start(request: StartRequest): Promise<Started>;
  get(taskId: string, options?: { signal?: AbortSignal }): Promise<RemoteTask>;
  /** The outcome of a task that is over; on 2025-11-25 may wait for it (`tasks/result`), delivering its questions meanwhile. */
  outcome(taskId: string, options?: { signal?: AbortSignal }): Promise<Outcome>;
  answer(taskId: string, answers: ReadonlyMap<string, Answer>): Promise<void>;
  cancel(taskId: string): Promise<void>;
  /** Deletes a task that is over, with what its server keeps of it. Absent where requestors cannot. */
  delete?(taskId: string): Promise<void>;
  /**
   * A page of a task's log, from a byte on (below 0: so many bytes before its end). Absent where the server tells no logs.
   */
  log?(taskId: string, cursor: number, options?: { signal?: AbortSignal }): Promise<TaskLogPage>;
  /**
   * Tells that a task has logged something, until the returned function is called. Absent where the server tells nothing of logs.
   * What is told is a hint; looking now and then is the net.
   * @param onTold whether the server tells right now, whenever that changes: not until it says so
   */
  watchLog?(taskId: string, onNews: () => void, onTold: (told: boolean) => void): () => void;
  /**
   * Tells of changes until the returned function is called. Absent where the server pushes nothing. Pushes are hints;
   * polling is the net.
   * @param onPushed which of the tasks the server tells of right now, whenever that changes: none until it says so
   */
  watch?(
    taskIds: readonly string[],
    onTask: (task: RemoteTask) => void,
    onPushed: (taskIds: ReadonlySet<string>) => void,
  ): () => void;
}
