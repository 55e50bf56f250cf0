import type { Generated } from 'kysely';
import type { Kept } from './vault.ts';

/**
 * The tables, the same in every SQL dialect. Times are integer milliseconds since the Unix epoch, JSON is text.
 * Payloads live outside `tasks`, so that reading a status never touches them. What is {@link Kept} goes through the store's
 * vault: it is sealed where the store has keys, and nothing else a peer or a handler said is in any column.
 */
export interface Schema {
  meta: { key: string; value: Kept };
  tasks: TasksTable;
  task_payloads: {
    task_row: number;
    kind: 'input' | 'prepared' | 'result' | 'error';
    body: Kept;
    /** Which key the body is encrypted with; null: plain. For people who look: the body says so itself. */
    key_id: string | null;
  };
  attempts: {
    task_row: number;
    fence: number;
    attempt: number;
    worker: string;
    started_at: number;
    ended_at: number | null;
    outcome: AttemptOutcome | null;
    error: Kept | null;
    /** Its place in the task's timeline, among the events. */
    event_seq: number;
  };
  steps: {
    task_id: string;
    /** Sealed stores keep a digest here, and key and name together below. */
    step_key: Kept;
    name: Kept;
    ordinal: number;
    /** The order in which steps were first recorded, to notice a handler that changed. */
    seq: number;
    /** Of what the step works on, to notice that it works on something else now. */
    input_hash: string | null;
    fence: number;
    body: Kept | null;
    error: Kept | null;
    started_at: number | null;
    ended_at: number;
    /** Its place in the task's timeline, among the events. */
    event_seq: number;
  };
  input_requests: {
    task_id: string;
    /** Sealed stores keep a digest here, and key and question together below. */
    request_key: Kept;
    seq: number;
    question: Kept;
    created_fence: number;
    created_at: number;
    deadline: number | null;
    answer: Kept | null;
    action: Kept | null;
    responder: string | null;
    answered_at: number | null;
  };
  events: { task_row: number; seq: number; type: string; body: Kept | null; at: number };
  /** Some lines each, `start` being where they begin in the log, in bytes; see commands/log.ts. */
  logs: { task_id: string; start: number; body: Kept };
  idempotency_keys: {
    tenant: string;
    principal: string;
    name: string;
    /** Digests, in sealed stores. */
    key: Kept;
    request_hash: Kept;
    task_id: string;
    expires_at: number | null;
    /** How often the request came again: then its caller is there after all. */
    repeats: number;
  };
  /** Limits of everybody of a tenant; null: as the server has them. */
  tenants: {
    id: string;
    max_open: number | null;
    max_running: number | null;
    default_ttl_ms: number | null;
    max_ttl_ms: number | null;
  };
  principals: {
    tenant: string;
    principal: string;
    max_open: number | null;
    max_running: number | null;
    default_ttl_ms: number | null;
    max_ttl_ms: number | null;
  };
  workers: {
    id: string;
    host: string;
    pid: number;
    started_at: number;
    seen_at: number;
    capabilities: string | null;
  };
}

export type RunState = 'ready' | 'leased' | 'parked' | 'done';
export type AttemptOutcome = 'completed' | 'failed' | 'cancelled' | 'lost' | 'parked' | 'released' | 'expired';

interface TasksTable {
  id: string;
  tenant: string;
  principal: string;
  /** What the requestor calls the task, where requestors make the ids. */
  requestor_task_id: string | null;
  origin_method: string;
  /** As workers are told apart: the name of a tool, or method and name of what is none. */
  tool: string;
  tool_version: string | null;
  created_revision: string;
  origin_request_id: Kept | null;
  progress_token: Kept | null;
  client_capabilities: string | null;
  /** What requestors see. */
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  /** Who is to move: a worker may claim it, holds it, nobody until an answer comes, or it is over. */
  run_state: RunState;
  status_message: Kept | null;
  progress: Kept | null;
  cancel_reason: Kept | null;
  version: number;
  /** The last number taken in the task's timeline. */
  event_seq: number;
  /** Bytes ever logged, dropped ones included: where the next line begins. */
  log_bytes: number;
  fence: number;
  attempt: number;
  max_attempts: number;
  on_worker_lost: string;
  lease_owner: string | null;
  lease_until: number | null;
  leased_at: number | null;
  available_at: number;
  cancel_requested_at: number | null;
  poll_ms: number | null;
  created_at: number;
  updated_at: number;
  ttl_ms: number | null;
  keep_result_ms: number;
  /** Set where the task is forgotten so long after its end, whatever its TTL. */
  keep_alive_ms: number | null;
  /** When an open task is aborted. */
  expires_at: number | null;
  terminal_at: number | null;
  /** When a terminal task disappears. */
  delete_at: number | null;
  timeout_ms: number | null;
  active_ms: number;
  parent_task_id: string | null;
  traceparent: Kept | null;
  labels: Kept | null;
  job_kind: string | null;
  job_ref: string | null;
  next_poll_at: number | null;
  /** In the order of creation; the `task_row` of what hangs on the task. Never leaves the store. */
  row_id: Generated<number>;
}
