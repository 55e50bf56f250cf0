import {
  isJsonObject,
  isTerminalStatus,
  type JsonObject,
  type JsonValue,
  type Question,
  type RpcErrorObject,
  TASK_STATUSES,
  type TaskProgress,
  type TaskStatus,
  type TerminalState,
} from '../core/index.ts';
import { EXISTING_META_KEY } from './idempotency.ts';

// What a peer says about its tasks, read leniently: what it leaves out or says oddly never ends a healthy task.

/** How a call ended: the tool's own result (also one with `isError`), an error of the protocol, or a cancel. */
export type Outcome = TerminalState;

export type PeerStatus = TaskStatus | 'unheard_of';

/** A task as its server tells it, in one form for every revision. */
export interface PeerTask {
  taskId: string;
  /** `unheard_of`: the server said a word that no text has. Not over: polling goes on until the TTL. */
  status: PeerStatus;
  statusMessage?: string;
  progress?: TaskProgress;
  pollIntervalMs?: number;
  /** Milliseconds from creation; null: for ever; absent: nobody said. */
  ttlMs?: number | null;
  /** Milliseconds since the Unix epoch, by the server's clock: tells older news from newer, and nothing else. */
  updatedAt?: number;
  /** Open questions by key (2026-07-28 only; on earlier revisions they come as requests). */
  questions: ReadonlyMap<string, Question>;
  /** Where the answer that was read holds it; else it has to be fetched. */
  outcome?: Outcome;
}

const STATUSES: ReadonlySet<unknown> = new Set(TASK_STATUSES);

export function readStatus(said: string): PeerStatus {
  return STATUSES.has(said) ? (said as PeerStatus) : 'unheard_of';
}

/** A word that nobody knows is never taken for success, nor for an end: polling goes on until the TTL. */
export function isOver(status: PeerStatus): boolean {
  return status !== 'unheard_of' && isTerminalStatus(status);
}

/** A handle, as it was created: how its task ended is asked for, whatever stands there already. */
export function withoutOutcome({ outcome: _none, ...task }: PeerTask): PeerTask {
  return task;
}

/** Whether the member can name a task: an empty one would be asked about, and found never. */
export function isTaskId(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** What revisions with times say alike, by the names that each has for them. */
export function readMembers(
  task: JsonObject,
  names: { ttl: string; pollInterval: string; message: string },
): Pick<PeerTask, 'statusMessage' | 'pollIntervalMs' | 'ttlMs' | 'updatedAt'> {
  const statusMessage = task[names.message];
  const pollIntervalMs = readDuration(task[names.pollInterval]);
  const ttl = task[names.ttl];
  const ttlMs = ttl === null ? null : readDuration(ttl);
  const updatedAt = typeof task.lastUpdatedAt === 'string' ? Date.parse(task.lastUpdatedAt) : Number.NaN;
  return {
    ...(typeof statusMessage === 'string' && { statusMessage }),
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...(ttlMs !== undefined && { ttlMs }),
    ...(!Number.isNaN(updatedAt) && { updatedAt }),
  };
}

/** Whole milliseconds of at least one; what is no such thing was not said. */
function readDuration(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.ceil(value) : undefined;
}

/** A JSON-RPC error as a peer sent it, with what it left out. */
export function readError(error: unknown, otherwise = 'failed without saying why'): RpcErrorObject {
  const { code, message, data } = isJsonObject(error) ? error : {};
  return {
    code: Number.isSafeInteger(code) ? (code as number) : -32603,
    message: typeof message === 'string' ? message : otherwise,
    ...(data !== undefined && { data }),
  };
}

export function readProgress(value: unknown): TaskProgress | undefined {
  if (!isJsonObject(value) || typeof value.progress !== 'number') return undefined;
  const { progress, total, message } = value;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}

/** Members of a result's `_meta` that say how it was sent, and nothing about what the tool did. */
const ENVELOPE_META_KEYS: ReadonlySet<string> = new Set([
  'io.modelcontextprotocol/related-task',
  'modelcontextprotocol.io/related-task',
  'io.modelcontextprotocol/serverInfo',
  EXISTING_META_KEY,
]);

/** A tool's own result: the same whichever way it came, at once or by a task, on this revision or that. */
export function toolResult(result: JsonObject): JsonObject {
  const { resultType: _said, _meta, ...rest } = result;
  if (!isJsonObject(_meta)) return rest;
  const kept = Object.entries(_meta).filter(([key]) => !ENVELOPE_META_KEYS.has(key));
  return { ...rest, ...(kept.length > 0 && { _meta: Object.fromEntries(kept) }) };
}
