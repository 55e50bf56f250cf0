import type { JsonObject, JsonValue } from './json.ts';
import type { Principal } from './principal.ts';
import type { TaskId } from './random.ts';
import type { WorkerLostRule } from './recovery.ts';
import type { TaskState } from './state.ts';

/** How far a task says it is. Rising numbers of any unit; `total` if it is known. */
export interface TaskProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** What the task's requestor said it can do, as far as a task may need it later. */
export interface RequestorAbilities {
  /** It can show a form to a person. */
  form: boolean;
  /** It can send a person to a page. */
  url?: boolean;
  /** It can ask its model. */
  sampling?: boolean;
  /** It can say which folders it works in. */
  roots?: boolean;
}

/** Everything a task is made of at its birth. */
export interface NewTask {
  taskId: TaskId;
  /**
   * What its requestor calls it, where requestors make the ids of their tasks (SEP-1686): unique among the tasks of its
   * principal, as long as the task is kept.
   */
  requestorTaskId?: string;
  principal: Principal;
  /** The request the task stands for, e.g. `tools/call`. */
  method: string;
  /** The tool (prompt, resource …) that was asked for. */
  name: string;
  /** The request's own arguments, as they came, JSON. */
  input: JsonValue;
  /** What the tool's `prepare` hook handed over, if it has one. */
  prepared?: JsonValue;
  /** Milliseconds from creation; null keeps the task for ever. */
  ttlMs: number | null;
  /** How long a result is kept at least, whatever the TTL. */
  keepResultMs: number;
  /** Forget the task `keepResultMs` after its end, whatever the TTL says: that one only bounds its open life. */
  keepFromEnd?: boolean;
  /** Fixed poll hint; without it the hint grows with age. */
  pollIntervalMs?: number;
  /** Active time over all attempts after which the task fails. */
  timeoutMs?: number;
  maxAttempts: number;
  onWorkerLost: WorkerLostRule;
  toolVersion?: string;
  /** The protocol revision of the creating request. */
  revision: string;
  originRequestId?: string;
  /** What the creating request wants its progress reported under. */
  progressToken?: string | number;
  abilities: RequestorAbilities;
  traceparent?: string;
  labels?: JsonObject;
}

/** A task as a reader sees it. Times are milliseconds since the Unix epoch. */
export interface TaskRecord {
  taskId: TaskId;
  /** What its requestor calls it, if requestors make the ids of their tasks. */
  requestorTaskId?: string;
  principal: Principal;
  method: string;
  name: string;
  state: TaskState;
  statusMessage?: string;
  progress?: TaskProgress;
  createdAt: number;
  updatedAt: number;
  /** Milliseconds from creation, as granted; may grow, never shrinks. */
  ttlMs: number | null;
  /** When an open task is aborted, or a terminal one disappears; null: never. */
  expiresAt: number | null;
  /** How long the result is kept at least, from the end on. */
  keepResultMs: number;
  /** A worker has taken it at least once. */
  started: boolean;
  pollIntervalMs?: number;
  attempt: number;
  /** Rises with every visible change. */
  version: number;
  /** The protocol revision of the creating request. */
  revision: string;
  /** What the creating request wants its progress reported under. */
  progressToken?: string | number;
}
