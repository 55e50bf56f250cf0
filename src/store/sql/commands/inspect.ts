import {
  isJsonObject,
  type JsonObject,
  nameOfWork,
  type Question,
  questionText,
  type RpcErrorObject,
  TASK_STATUSES,
  type TaskId,
  type TaskStatus,
  type WorkerLostRule,
} from '../../../core/index.ts';
import type {
  InspectedQuestion,
  RunState,
  TaskFilter,
  TaskInspection,
  TaskOverview,
  TaskPayloads,
  TimelineEntry,
} from '../../operator-store.ts';
import type { Position } from '../cursor.ts';
import type { FullRow, OverviewRow, TimelineRow } from '../inspect-statements.ts';
import { ownerColumns, parseJson } from '../rows.ts';
import { all, type Command, one } from '../statement.ts';
import type { Statements } from '../statements.ts';

/** Tasks looked at by one command of a list: some milliseconds, in which nothing else runs. */
const SCAN = 1_000;
/** The same for counting, which reads three small columns. */
const COUNT = 5_000;

/** At most `limit` matches among the next tasks older than `before`; `next` is where to go on, if there is more. */
export function* listTasks(
  q: Statements,
  filter: TaskFilter,
  before: Position,
  limit: number,
): Command<{ tasks: TaskOverview[]; next: Position | undefined }> {
  const { principal, name, since = 0, labels } = filter;
  const tasks = principal === undefined ? q.ofEverybody : q.ofPrincipal;
  const owner = principal === undefined ? { tenant: null, principal: null } : ownerColumns(principal);
  const from = { beforeAt: before.at, beforeId: before.id, ...owner };
  const last = yield* one(tasks.keyOlderThan, { ...from, since, skip: SCAN - 1 });
  const [s1, s2 = null, s3 = null, s4 = null, s5 = null] = statusesOf(filter);
  const rows = yield* all(tasks.overviews, {
    ...from,
    lastAt: last?.created_at ?? since,
    lastId: last?.id ?? '',
    tool: name ?? null,
    ...{ s1: s1 as TaskStatus, s2, s3, s4, s5 },
    limit: labels === undefined ? limit : SCAN,
  });
  const matches = rows.map(toOverview).filter((task) => hasLabels(task, labels));
  const found = matches.slice(0, limit);
  const end = found.at(-1);
  if (end !== undefined && found.length === limit) {
    const place = { beforeAt: end.createdAt, beforeId: end.taskId, ...owner };
    const older = yield* one(tasks.keyOlderThan, { ...place, since, skip: 0 });
    return { tasks: found, next: older && { at: end.createdAt, id: end.taskId } };
  }
  return { tasks: found, next: last && { at: last.created_at, id: last.id } };
}

function statusesOf({ status }: TaskFilter): readonly TaskStatus[] {
  if (status === undefined) return TASK_STATUSES;
  return typeof status === 'string' ? [status] : [...new Set(status)];
}

function hasLabels({ labels }: TaskOverview, wanted: JsonObject | undefined): boolean {
  if (wanted === undefined) return true;
  return Object.entries(wanted).every(([key, value]) => labels !== undefined && labels[key] === value);
}

function toOverview(row: OverviewRow): TaskOverview {
  return {
    taskId: row.id,
    principal: { ...(row.tenant !== '' && { tenant: row.tenant }), subject: row.principal },
    method: row.origin_method,
    name: nameOfWork(row.origin_method, row.tool),
    status: row.status,
    runState: row.run_state,
    ...(row.status_message !== null && { statusMessage: row.status_message }),
    ...(row.progress !== null && { progress: parseJson(row.progress) as unknown as TaskOverview['progress'] & object }),
    attempt: row.attempt,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.terminal_at !== null && { endedAt: row.terminal_at }),
    expiresAt: row.expires_at,
    ...(row.labels !== null && { labels: parseJson(row.labels) as JsonObject }),
  };
}

export interface CountedPiece {
  found: { status: TaskStatus; runState: RunState; tasks: number }[];
  /** Where to go on; nothing is left without it. */
  next: number | undefined;
}

/** Counts the next tasks after `after`, in the order of creation. */
export function* countTasks(q: Statements, after: number): Command<CountedPiece> {
  const rows = yield* all(q.countTasks, { after, limit: COUNT });
  return {
    found: rows.map(({ status, run_state, found }) => ({ status, runState: run_state, tasks: found })),
    next: rows.length === 0 ? undefined : Math.max(...rows.map(({ last }) => last)),
  };
}

export function* inspectTask(q: Statements, taskId: TaskId): Command<TaskInspection | undefined> {
  const row = yield* one(q.readFull, { id: taskId });
  if (row === undefined) return undefined;
  const error = row.status === 'failed' ? yield* one(q.readPayload, { id: taskId, kind: 'error' }) : undefined;
  const steps = yield* one(q.countSteps, { id: taskId });
  const asked = yield* all(q.listAsked, { id: taskId });
  const questions = asked.map(
    (question): InspectedQuestion => ({
      key: question.request_key,
      message: questionText(JSON.parse(question.question) as Question),
      askedAt: question.created_at,
      ...(question.deadline !== null && { deadline: question.deadline }),
      ...(question.answered_at !== null && { answeredAt: question.answered_at }),
      ...(question.action !== null && { action: question.action }),
      ...(question.responder !== null && { by: question.responder }),
    }),
  );
  return {
    ...toOverview(row),
    ...runOf(row),
    revision: row.created_revision,
    ...(row.tool_version !== null && { toolVersion: row.tool_version }),
    ttlMs: row.ttl_ms,
    ...(row.timeout_ms !== null && { timeoutMs: row.timeout_ms }),
    maxAttempts: row.max_attempts,
    onWorkerLost: row.on_worker_lost as WorkerLostRule,
    activeMs: row.active_ms,
    ...(error !== undefined && { error: withoutData(JSON.parse(error.body) as RpcErrorObject) }),
    ...(row.cancel_reason !== null && { cancelReason: row.cancel_reason }),
    questions,
    steps: steps?.found ?? 0,
    logBytes: row.log_bytes,
  };
}

function runOf(row: FullRow): Pick<TaskInspection, 'availableAt' | 'lease'> {
  if (row.run_state === 'ready') return { availableAt: row.available_at };
  if (row.run_state !== 'leased') return {};
  const { lease_owner: worker, fence, leased_at: since, lease_until: until } = row;
  return { lease: { worker: worker ?? '', fence, since: since ?? 0, until: until ?? 0 } };
}

function withoutData({ code, message }: RpcErrorObject): Pick<RpcErrorObject, 'code' | 'message'> {
  return { code, message };
}

export function* timeline(q: Statements, taskId: TaskId, after: number, limit: number): Command<TimelineEntry[]> {
  const rows = yield* all(q.timeline, { id: taskId, after, limit });
  return rows.map((row) => ({ seq: row.seq, type: row.type, body: timelineBody(row), at: row.at }));
}

function timelineBody({ body, name, ordinal, fence }: TimelineRow): JsonObject | null {
  if (name === null) return body === null ? null : asObject(body);
  return fence === null ? { name, ordinal } : { attempt: ordinal, fence, worker: name };
}

/** Notes may be any JSON; entries are objects, so that readers need only one way to look into them. */
function asObject(body: string): JsonObject {
  const value = parseJson(body);
  return isJsonObject(value) ? value : { note: value };
}

export function* payloads(q: Statements, taskId: TaskId): Command<TaskPayloads | undefined> {
  const bodies = new Map((yield* all(q.listPayloads, { id: taskId })).map(({ kind, body }) => [kind, parseJson(body)]));
  const input = bodies.get('input');
  if (input === undefined) return undefined;
  const recorded = yield* all(q.listRecordedSteps, { id: taskId });
  const asked = yield* all(q.listAsked, { id: taskId });
  const kept = (['prepared', 'result', 'error'] as const).flatMap((kind) => {
    const value = bodies.get(kind);
    return value === undefined ? [] : [[kind, value] as const];
  });
  return {
    input,
    ...Object.fromEntries(kept),
    steps: recorded.map(({ name, ordinal, body, error }) => ({
      name,
      ordinal,
      ...(body !== null && { value: parseJson(body) }),
      ...(error !== null && { error: parseJson(error) }),
    })),
    answers: asked.map(({ request_key, question, answer }) => ({
      key: request_key,
      question: JSON.parse(question) as Question,
      ...(answer !== null && { answer: parseJson(answer) }),
    })),
  };
}

export function* findIds(q: Statements, prefix: string, limit: number): Command<TaskId[]> {
  // No letter of an id sorts after `~`.
  return (yield* all(q.findIds, { prefix, beyond: `${prefix}~`, limit })).map(({ id }) => id);
}
