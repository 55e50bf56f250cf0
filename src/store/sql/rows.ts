import {
  type Answer,
  type InputRequests,
  type JsonObject,
  type JsonValue,
  type NewTask,
  nameOfWork,
  type Principal,
  type Question,
  type RpcErrorObject,
  StoreFailedError,
  type TaskProgress,
  type TaskRecord,
  type TaskState,
  workName,
} from '../../core/index.ts';
import type { Lease, RecordedQuestion } from '../store.ts';
import type { ClaimRow, NewTaskRow, RecordRow } from './statements.ts';

/** Principals as columns; a missing tenant is the empty one, since NULL never equals NULL. */
export function ownerColumns(principal: Principal): { tenant: string; principal: string } {
  return { tenant: principal.tenant ?? '', principal: principal.subject };
}

/** The row of a task that nobody has worked on yet. */
export function newTaskRow(task: NewTask, now: number): NewTaskRow {
  const expiresAt = task.ttlMs === null ? null : now + task.ttlMs;
  return {
    id: task.taskId,
    ...ownerColumns(task.principal),
    requestor_task_id: task.requestorTaskId ?? null,
    origin_method: task.method,
    tool: workName(task.method, task.name),
    tool_version: task.toolVersion ?? null,
    created_revision: task.revision,
    origin_request_id: task.originRequestId ?? null,
    progress_token: task.progressToken === undefined ? null : JSON.stringify(task.progressToken),
    client_capabilities: JSON.stringify(task.abilities),
    status: 'working',
    run_state: 'ready',
    status_message: null,
    progress: null,
    cancel_reason: null,
    version: 1,
    event_seq: 1,
    log_bytes: 0,
    fence: 0,
    attempt: 0,
    max_attempts: task.maxAttempts,
    on_worker_lost: task.onWorkerLost,
    lease_owner: null,
    lease_until: null,
    leased_at: null,
    available_at: now,
    cancel_requested_at: null,
    poll_ms: task.pollIntervalMs ?? null,
    created_at: now,
    updated_at: now,
    ttl_ms: task.ttlMs,
    keep_result_ms: task.keepResultMs,
    keep_alive_ms: task.keepFromEnd === true ? task.keepResultMs : null,
    expires_at: expiresAt,
    terminal_at: null,
    delete_at: null,
    timeout_ms: task.timeoutMs ?? null,
    active_ms: 0,
    parent_task_id: null,
    traceparent: task.traceparent ?? null,
    labels: task.labels === undefined ? null : JSON.stringify(task.labels),
    job_kind: null,
    job_ref: null,
    next_poll_at: null,
  };
}

/** A row as readers see it; `open` are the questions without an answer, for a task that waits for some. */
export function toRecord(row: Omit<RecordRow, 'outcome'>, outcome: string | null, open: InputRequests): TaskRecord {
  return {
    taskId: row.id,
    ...(row.requestor_task_id !== null && { requestorTaskId: row.requestor_task_id }),
    principal: { ...(row.tenant !== '' && { tenant: row.tenant }), subject: row.principal },
    method: row.origin_method,
    name: nameOfWork(row.origin_method, row.tool),
    state: toState(row, outcome, open),
    ...(row.status_message !== null && { statusMessage: row.status_message }),
    ...(row.progress !== null && { progress: JSON.parse(row.progress) as TaskProgress }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ttlMs: grantedTtl(row),
    expiresAt: row.expires_at,
    keepResultMs: row.keep_result_ms,
    started: row.fence > 0,
    ...(row.poll_ms !== null && { pollIntervalMs: row.poll_ms }),
    attempt: row.attempt,
    version: row.version,
    revision: row.created_revision,
    ...(row.progress_token !== null && { progressToken: JSON.parse(row.progress_token) as string | number }),
  };
}

/** Kept from its end on, an open task is promised no time but what would be left if it ended now. That grows, as a TTL may. */
function grantedTtl({
  status,
  created_at,
  updated_at,
  ttl_ms,
  keep_alive_ms,
}: Omit<RecordRow, 'outcome'>): number | null {
  const open = status === 'working' || status === 'input_required';
  return open && keep_alive_ms !== null ? updated_at - created_at + keep_alive_ms : ttl_ms;
}

function toState(
  row: Pick<RecordRow, 'status' | 'cancel_reason'>,
  outcome: string | null,
  open: InputRequests,
): TaskState {
  switch (row.status) {
    case 'working':
      return { status: 'working' };
    case 'input_required':
      return { status: 'input_required', inputRequests: open };
    case 'completed':
      return { status: 'completed', result: JSON.parse(present(outcome, 'result')) as JsonObject };
    case 'failed':
      return { status: 'failed', error: JSON.parse(present(outcome, 'error')) as RpcErrorObject };
    case 'cancelled':
      return { status: 'cancelled', ...(row.cancel_reason !== null && { reason: row.cancel_reason }) };
  }
}

/** Status and outcome are written in one transaction; one without the other means the file was tampered with. */
function present(outcome: string | null, kind: string): string {
  if (outcome === null)
    throw new StoreFailedError(`the task store is damaged: a finished task has no ${kind}; restore a backup`);
  return outcome;
}

export function toLease(row: ClaimRow): Lease {
  return {
    taskId: row.id,
    workerId: row.lease_owner ?? '',
    fence: row.fence,
    attempt: row.attempt,
    leaseUntil: row.lease_until ?? 0,
  };
}

export function toQuestion(row: {
  request_key: string;
  question: string;
  answer: string | null;
  deadline: number | null;
}): RecordedQuestion {
  return {
    key: row.request_key,
    question: JSON.parse(row.question) as Question,
    ...(row.answer !== null && { answer: JSON.parse(row.answer) as Answer }),
    ...(row.deadline !== null && { deadline: row.deadline }),
  };
}

/** Open questions as the union carries them; no prototype, since keys come from outside the type system. */
export function toInputRequests(questions: readonly RecordedQuestion[]): InputRequests {
  const open = Object.create(null) as InputRequests;
  for (const { key, question, answer } of questions) if (answer === undefined) open[key] = question;
  return open;
}

export function parseJson(text: string): JsonValue {
  return JSON.parse(text) as JsonValue;
}
