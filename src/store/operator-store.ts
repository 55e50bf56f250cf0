import type {
  JsonObject,
  JsonValue,
  Principal,
  Question,
  RpcErrorObject,
  TaskId,
  TaskProgress,
  TaskStatus,
  WorkerLostRule,
} from '../core/index.ts';
import type { PastAttempt } from './store.ts';

/** Who is to move: a worker may take it, one holds it, nobody until an answer comes or a time is reached, or it is over. */
export type RunState = 'ready' | 'leased' | 'parked' | 'done';

/** Which tasks. What is left out does not restrict. */
export interface TaskFilter {
  status?: TaskStatus | readonly TaskStatus[];
  /** The tool. */
  name?: string;
  principal?: Principal;
  /** Created then or later, in milliseconds since the Unix epoch. */
  since?: number;
  /** Created before. */
  until?: number;
  /** Each of these has this value. */
  labels?: JsonObject;
}

export interface ListOptions extends TaskFilter {
  limit: number;
  /** Where an earlier page said it ended. */
  cursor?: string;
}

/** A task without its payloads, whoever's it is. */
export interface TaskOverview {
  taskId: TaskId;
  principal: Principal;
  method: string;
  name: string;
  status: TaskStatus;
  runState: RunState;
  statusMessage?: string;
  progress?: TaskProgress;
  attempt: number;
  createdAt: number;
  updatedAt: number;
  endedAt?: number;
  /** When an open task is aborted, or a terminal one disappears; null: never. */
  expiresAt: number | null;
  labels?: JsonObject;
  /** Keys that what is missing here is encrypted with: this process does not have them, or the bytes were tampered with. */
  sealed?: string[];
}

export interface TaskPage {
  tasks: TaskOverview[];
  /** Where the next page begins; there is none without it. Holds whatever is created or deleted meanwhile. */
  nextCursor?: string;
}

export interface TaskCounts {
  total: number;
  byStatus: Record<TaskStatus, number>;
  byRunState: Record<RunState, number>;
}

/** What the tasks take up, in bytes. */
export interface StorageSize {
  /** The database, with what is free in it. */
  fileBytes: number;
  /** How much of it is free: used again, or given back. */
  freeBytes: number;
  /** The write-ahead log beside it; 0 where there is none. */
  walBytes: number;
  /** How much of that log is not in the database yet. It grows while somebody reads an old state. */
  lagBytes: number;
}

export interface InspectedQuestion {
  key: string;
  message: string;
  askedAt: number;
  deadline?: number;
  answeredAt?: number;
  /** How it was answered: `accept`, `decline`, `cancel`, or `expired`. */
  action?: string;
  /** The subject of the principal who answered. */
  by?: string;
}

/** Everything about a task but its payloads. */
export interface TaskInspection extends TaskOverview {
  revision: string;
  toolVersion?: string;
  ttlMs: number | null;
  timeoutMs?: number;
  maxAttempts: number;
  onWorkerLost: WorkerLostRule;
  /** Milliseconds its handler has worked, waiting for answers not counted, as far as the store was told. */
  activeMs: number;
  /** When it may be taken at the earliest, while it is `ready`. */
  availableAt?: number;
  lease?: { worker: string; fence: number; since: number; until: number };
  /** Code and message of a failed task's error. */
  error?: Pick<RpcErrorObject, 'code' | 'message'>;
  cancelReason?: string;
  questions: InspectedQuestion[];
  steps: number;
  /** Bytes ever logged. */
  logBytes: number;
}

/** What a task was given, and what came of it. */
export interface TaskPayloads {
  input: JsonValue;
  prepared?: JsonValue;
  result?: JsonValue;
  error?: JsonValue;
  steps: { name: string; ordinal: number; value?: JsonValue; error?: JsonValue }[];
  answers: { key: string; question: Question; answer?: JsonValue }[];
}

/** One entry of a task's timeline. `type` is past tense: `created`, `claimed`, `step_recorded`, `input_received` … */
export interface TimelineEntry {
  /** Grows from entry to entry; not every number is taken. */
  seq: number;
  type: string;
  body: JsonObject | null;
  at: number;
  /** The key that the rest of it is encrypted with, where it does not open here. */
  sealed?: string[];
}

export interface RekeyOptions {
  /**
   * Write the whole file anew at the end: of what was encrypted late, the plain text stays in unused parts of the file until
   * then. Others wait to write for as long as that takes. @default false
   */
  vacuum?: boolean;
}

/** What sealing a store anew came to. */
export interface Rekeyed {
  /** The key that everything is sealed with now, but for what is left. */
  key: string;
  /** Rows that were sealed anew. */
  rows: number;
  /** How many of them held something that was not sealed at all. */
  plain: number;
  /** Rows that could not be, by the key they are sealed with: it is not here, or they were tampered with. */
  left: Record<string, number>;
}

/** What operators ask of a store, and do to it: every task, whoever's it is. Nothing here may be reached by a peer. */
export interface OperatorStore {
  /**
   * Newest first, by `createdAt` and then by id. Goes through the store in small pieces, so that a rare match in a large
   * store keeps nobody waiting.
   * @throws {TypeError} when the cursor is not one that an earlier page gave.
   */
  list(options: ListOptions): Promise<TaskPage>;
  /** How many tasks there are. Counted in small pieces: exact once nothing moves. */
  counts(): Promise<TaskCounts>;
  /** What all of it takes up. */
  storage(): Promise<StorageSize>;
  inspect(taskId: TaskId): Promise<TaskInspection | undefined>;
  /** The leases the task has had, oldest first. */
  attempts(taskId: TaskId): Promise<PastAttempt[]>;
  /** Entries after `after`, oldest first. */
  timeline(taskId: TaskId, after: number, limit: number): Promise<TimelineEntry[]>;
  payloads(taskId: TaskId): Promise<TaskPayloads | undefined>;
  /** Ids that begin with `prefix`. */
  findIds(prefix: string, limit: number): Promise<TaskId[]>;
  /**
   * Creates a task like a finished one, with the same arguments; the old one stays as it is. `held`: its work was no handler
   * of ours, so nobody could run it again.
   */
  requeue(taskId: TaskId, as: TaskId): Promise<'requeued' | 'still_open' | 'held' | undefined>;
  /** Cancels those that are open; the result names them. `by` is for the timeline. */
  cancelAll(which: readonly TaskId[] | TaskFilter, reason: string, by: string): Promise<TaskId[]>;
  /**
   * Seals everything with the key in use, in small pieces, beside whoever else is at work: what is sealed with another key,
   * and what was kept as it is. Once nothing is left, other keys may go.
   * @throws {TypeError} when the store was opened without keys.
   */
  rekey(options?: RekeyOptions): Promise<Rekeyed>;
  /** Cancels the task if it is open, and deletes everything there is of it. False: there was nothing. */
  remove(taskId: TaskId): Promise<boolean>;
}
