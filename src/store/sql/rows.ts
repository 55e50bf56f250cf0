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
  type TaskId,
  type TaskProgress,
  type TaskRecord,
  type TaskState,
  workName,
} from '../../core/index.ts';
import type { Lease, RecordedQuestion } from '../store.ts';
import { places, SEALED_TASK_COLUMNS, type SealedTaskColumn } from './places.ts';
import type { ClaimRow, NewTaskRow, RecordRow } from './statements.ts';
import { isSealed, type Kept, nameOf, type Place, type Vault } from './vault.ts';

/** Principals as columns; a missing tenant is the empty one, since NULL never equals NULL. */
export function ownerColumns(principal: Principal): { tenant: string; principal: string } {
  return { tenant: principal.tenant ?? '', principal: principal.subject };
}

/** The row of a task that nobody has worked on yet. */
export function newTaskRow(vault: Vault, task: NewTask, now: number): NewTaskRow {
  const expiresAt = task.ttlMs === null ? null : now + task.ttlMs;
  const sealed = (column: SealedTaskColumn, text: string | undefined): Kept | null =>
    text === undefined ? null : vault.seal(places.ofTask(task.taskId, column), text);
  return {
    id: task.taskId,
    ...ownerColumns(task.principal),
    requestor_task_id: task.requestorTaskId ?? null,
    origin_method: task.method,
    tool: workName(task.method, task.name),
    tool_version: task.toolVersion ?? null,
    created_revision: task.revision,
    origin_request_id: sealed('origin_request_id', task.originRequestId),
    progress_token: sealed('progress_token', JSON.stringify(task.progressToken)),
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
    traceparent: sealed('traceparent', task.traceparent),
    labels: sealed('labels', JSON.stringify(task.labels)),
    job_kind: null,
    job_ref: null,
    next_poll_at: null,
  };
}

/** A row's payloads, sealed for another task. */
export function forTask<Row extends Pick<NewTaskRow, 'id' | SealedTaskColumn>>(
  vault: Vault,
  row: Row,
  id: TaskId,
): Row {
  const moved = { ...row, id };
  for (const column of SEALED_TASK_COLUMNS) {
    const payload = row[column];
    if (payload === null) continue;
    moved[column] = vault.moved(places.ofTask(row.id, column), payload, places.ofTask(id, column)) as never;
  }
  return moved;
}

/** A row as readers see it; `open` are the questions without an answer, for a task that waits for some. */
export function toRecord(
  vault: Vault,
  row: Omit<RecordRow, 'outcome'>,
  outcome: Kept | null,
  open: InputRequests,
): TaskRecord {
  const text = (column: SealedTaskColumn & keyof typeof row): string | undefined => {
    const payload = row[column];
    return payload === null ? undefined : vault.open(places.ofTask(row.id, column), payload);
  };
  const [statusMessage, progress, progressToken] = (['status_message', 'progress', 'progress_token'] as const).map(
    text,
  );
  return {
    taskId: row.id,
    ...(row.requestor_task_id !== null && { requestorTaskId: row.requestor_task_id }),
    principal: { ...(row.tenant !== '' && { tenant: row.tenant }), subject: row.principal },
    method: row.origin_method,
    name: nameOfWork(row.origin_method, row.tool),
    state: toState(vault, row, outcome, open),
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress !== undefined && { progress: JSON.parse(progress) as TaskProgress }),
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
    ...(progressToken !== undefined && { progressToken: JSON.parse(progressToken) as string | number }),
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
  vault: Vault,
  row: Pick<RecordRow, 'id' | 'status' | 'cancel_reason'>,
  outcome: Kept | null,
  open: InputRequests,
): TaskState {
  switch (row.status) {
    case 'working':
      return { status: 'working' };
    case 'input_required':
      return { status: 'input_required', inputRequests: open };
    case 'completed':
      return { status: 'completed', result: JSON.parse(present(vault, row.id, outcome, 'result')) as JsonObject };
    case 'failed':
      return { status: 'failed', error: JSON.parse(present(vault, row.id, outcome, 'error')) as RpcErrorObject };
    case 'cancelled':
      if (row.cancel_reason === null) return { status: 'cancelled' };
      return { status: 'cancelled', reason: vault.open(places.ofTask(row.id, 'cancel_reason'), row.cancel_reason) };
  }
}

/** Status and outcome are written in one transaction; one without the other means the file was tampered with. */
function present(vault: Vault, id: TaskId, outcome: Kept | null, kind: 'result' | 'error'): string {
  if (outcome === null)
    throw new StoreFailedError(`the task store is damaged: a finished task has no ${kind}; restore a backup`);
  return vault.open(places.body(id, kind), outcome);
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

/** Sealed stores look questions and steps up by digests, and keep what those stand for beside what they say. */
export function keyed(vault: Vault, key: string, text: string): string {
  return vault.use === undefined ? text : JSON.stringify([key, text]);
}

export function toQuestion(
  vault: Vault,
  task: TaskId,
  row: { request_key: Kept; question: Kept; answer: Kept | null; deadline: number | null },
): RecordedQuestion {
  const [key, question] = withKey(vault, row.request_key, row.question, (name) => places.question(task, name));
  return {
    key,
    question: JSON.parse(question) as Question,
    ...(row.answer !== null && { answer: JSON.parse(vault.open(places.answer(task, key), row.answer)) as Answer }),
    ...(row.deadline !== null && { deadline: row.deadline }),
  };
}

export function toStepName(
  vault: Vault,
  task: TaskId,
  row: { step_key: Kept; name: Kept },
): { key: string; name: string } {
  const [key, name] = withKey(vault, row.step_key, row.name, (digest) => places.stepName(task, digest));
  return { key, name };
}

/** Key and text of a question or step, which sealed stores keep together. */
export function withKey(
  vault: Vault,
  key: Kept,
  payload: Kept,
  place: (name: string) => Place,
): [key: string, text: string] {
  const text = vault.open(place(nameOf(key)), payload);
  return isSealed(payload) ? (JSON.parse(text) as [string, string]) : [nameOf(key), text];
}

/** The open ones among a task's questions, as far as deciding about them goes: which there are, not what they ask. */
export function stillOpen(rows: readonly { request_key: Kept; answer: Kept | null }[]): InputRequests {
  const open = Object.create(null) as InputRequests;
  for (const { request_key, answer } of rows) if (answer === null) open[nameOf(request_key)] = { kind: 'roots' };
  return open;
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
