import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nameOfWork,
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
import type { AskedRow, FullRow, OverviewRow, TimelineRow } from '../inspect-statements.ts';
import { places, type SealedTaskColumn } from '../places.ts';
import { ownerColumns, parseJson, toQuestion, toStepName } from '../rows.ts';
import { all, type Command, one } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { type Kept, nameOf, type Place, type Vault } from '../vault.ts';
import { Peek } from './peek.ts';

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
  const matches = rows.map((row) => toOverview(row, new Peek(q.vault))).filter((task) => hasLabels(task, labels));
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

function toOverview(row: OverviewRow, peek: Peek): TaskOverview {
  const text = (column: SealedTaskColumn & keyof OverviewRow) => peek.at(places.ofTask(row.id, column), row[column]);
  const [statusMessage, progress, labels] = (['status_message', 'progress', 'labels'] as const).map(text);
  return {
    taskId: row.id,
    principal: { ...(row.tenant !== '' && { tenant: row.tenant }), subject: row.principal },
    method: row.origin_method,
    name: nameOfWork(row.origin_method, row.tool),
    status: row.status,
    runState: row.run_state,
    ...(statusMessage !== undefined && { statusMessage }),
    ...(progress !== undefined && { progress: parseJson(progress) as unknown as TaskOverview['progress'] & object }),
    attempt: row.attempt,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.terminal_at !== null && { endedAt: row.terminal_at }),
    expiresAt: row.expires_at,
    ...(labels !== undefined && { labels: parseJson(labels) as JsonObject }),
    ...peek.note,
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
  const failure = row.status === 'failed' ? yield* one(q.readPayload, { id: taskId, kind: 'error' }) : undefined;
  const steps = yield* one(q.countSteps, { id: taskId });
  const asked = yield* all(q.listAsked, { id: taskId });
  const peek = new Peek(q.vault);
  const error = peek.at(places.body(taskId, 'error'), failure?.body ?? null);
  const cancelReason = peek.at(places.ofTask(taskId, 'cancel_reason'), row.cancel_reason);
  const questions = asked.map((question) => inspectedQuestion(q.vault, taskId, question, peek));
  return {
    ...toOverview(row, peek),
    ...runOf(row),
    revision: row.created_revision,
    ...(row.tool_version !== null && { toolVersion: row.tool_version }),
    ttlMs: row.ttl_ms,
    ...(row.timeout_ms !== null && { timeoutMs: row.timeout_ms }),
    maxAttempts: row.max_attempts,
    onWorkerLost: row.on_worker_lost as WorkerLostRule,
    activeMs: row.active_ms,
    ...(error !== undefined && { error: withoutData(JSON.parse(error) as RpcErrorObject) }),
    ...(cancelReason !== undefined && { cancelReason }),
    questions,
    steps: steps?.found ?? 0,
    logBytes: row.log_bytes,
  };
}

/** A question without what was answered. One that does not open is still seen to be there. */
function inspectedQuestion(vault: Vault, taskId: TaskId, row: AskedRow, peek: Peek): InspectedQuestion {
  const asked = peek.unless(row.question, () => toQuestion(vault, taskId, { ...row, answer: null }));
  const action = asked && peek.at(places.action(taskId, asked.key), row.action);
  return {
    key: asked?.key ?? nameOf(row.request_key),
    message: asked === undefined ? '' : questionText(asked.question),
    askedAt: row.created_at,
    ...(row.deadline !== null && { deadline: row.deadline }),
    ...(row.answered_at !== null && { answeredAt: row.answered_at }),
    ...(action !== undefined && { action }),
    ...(row.responder !== null && { by: row.responder }),
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
  return rows.map((row) => {
    const peek = new Peek(q.vault);
    return { seq: row.seq, type: row.type, body: timelineBody(q.vault, taskId, row, peek), at: row.at, ...peek.note };
  });
}

function timelineBody(vault: Vault, taskId: TaskId, row: TimelineRow, peek: Peek): JsonObject | null {
  const { seq, body, worker, step_key, name, ordinal, fence } = row;
  if (worker !== null) return { attempt: ordinal, fence, worker };
  if (step_key === null || name === null) {
    const text = peek.at(places.event(taskId, seq), body);
    return text === undefined ? null : asObject(text);
  }
  const step = peek.unless(name, () => toStepName(vault, taskId, { step_key, name }));
  return { ...(step !== undefined && { name: step.name }), ordinal };
}

/** Notes may be any JSON; entries are objects, so that readers need only one way to look into them. */
function asObject(body: string): JsonObject {
  const value = parseJson(body);
  return isJsonObject(value) ? value : { note: value };
}

export function* payloads(q: Statements, taskId: TaskId): Command<TaskPayloads | undefined> {
  const { vault } = q;
  const parsed = (place: Place, payload: Kept): JsonValue => parseJson(vault.open(place, payload));
  const rows = yield* all(q.listPayloads, { id: taskId });
  const bodies = new Map(rows.map(({ kind, body }) => [kind, parsed(places.body(taskId, kind), body)]));
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
    steps: recorded.map((row) => {
      const { key, name } = toStepName(vault, taskId, row);
      return {
        name,
        ordinal: row.ordinal,
        ...(row.body !== null && { value: parsed(places.stepValue(taskId, key), row.body) }),
        ...(row.error !== null && { error: parsed(places.stepError(taskId, key), row.error) }),
      };
    }),
    answers: asked.map((row) => {
      const { key, question, answer } = toQuestion(vault, taskId, row);
      return { key, question, ...(answer !== undefined && { answer: answer as unknown as JsonValue }) };
    }),
  };
}

export function* findIds(q: Statements, prefix: string, limit: number): Command<TaskId[]> {
  // No letter of an id sorts after `~`.
  return (yield* all(q.findIds, { prefix, beyond: `${prefix}~`, limit })).map(({ id }) => id);
}
