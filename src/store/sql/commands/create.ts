import {
  IdempotencyConflictError,
  isTerminal,
  type JsonValue,
  LimitExceededError,
  type NewTask,
  type Principal,
  TaskIdTakenError,
  TaskNotFoundError,
  workName,
} from '../../../core/index.ts';
import type { ClaimedTask, Created, CreateOptions } from '../../store.ts';
import { newTaskRow, ownerColumns, toRecord } from '../rows.ts';
import { type Command, one, run } from '../statement.ts';
import type { Statements } from '../statements.ts';
import { type Kept, nameOf, plain, type Vault } from '../vault.ts';
import { fingerprintsOf, insertBody } from './payload.ts';
import { readRecord } from './read.ts';

/** Task row, payloads, first event and idempotency key, together or not at all. */
export function* create(q: Statements, task: NewTask, options: CreateOptions, now: number): Command<Created> {
  const owner = ownerColumns(task.principal);
  const request = options.idempotency && requestKey(q.vault, task, options.idempotency);
  if (request !== undefined) {
    const existing = yield* findByKey(q, task.principal, request, now);
    if (existing !== undefined) return existing;
    if (mayBeGone(task, options.idempotency?.repeatAgeMs)) throw new TaskNotFoundError();
  }
  const { requestorTaskId } = task;
  if (requestorTaskId !== undefined) {
    const taken = yield* one(q.findRequestorTask, { ...owner, requestorTaskId });
    if (taken !== undefined) throw new TaskIdTakenError();
  }
  if (options.maxOpenTasks !== undefined) {
    const beyond = yield* one(q.openTaskBeyond, { ...owner, limit: options.maxOpenTasks - 1 });
    if (beyond !== undefined) {
      throw new LimitExceededError(
        `too many open tasks: at most ${options.maxOpenTasks} per caller; wait until one is over, or cancel one`,
      );
    }
  }
  const row = newTaskRow(q.vault, task, now);
  if (options.claim !== undefined) {
    row.run_state = 'leased';
    row.fence = 1;
    row.attempt = 1;
    row.event_seq = 2; // The second entry of its timeline is the attempt.
    row.lease_owner = options.claim.workerId;
    row.lease_until = now + options.claim.leaseMs;
    row.leased_at = now;
  }
  yield* run(q.insertTask, row);
  const input = JSON.stringify(task.input);
  const prepared = task.prepared === undefined ? undefined : JSON.stringify(task.prepared);
  yield* insertBody(q, task.taskId, 'input', input);
  if (prepared !== undefined) {
    yield* insertBody(q, task.taskId, 'prepared', prepared);
  }
  yield* run(q.insertEvent, { id: task.taskId, seq: 1, type: 'created', body: null, now });
  if (request !== undefined) yield* run(q.putKey, { ...request, id: task.taskId, expiresAt: row.expires_at });
  const record = toRecord(q.vault, row, null, {});
  if (options.claim === undefined) return { task: record, outcome: 'created' };
  const { workerId } = options.claim;
  yield* run(q.insertAttempt, { id: task.taskId, fence: 1, attempt: 1, worker: workerId, now });
  const claimed: ClaimedTask = {
    lease: { taskId: task.taskId, workerId, fence: 1, attempt: 1, leaseUntil: row.lease_until as number },
    task: record,
    // As every later attempt reads them: JSON has numbers that do not come back, and an author's values may be richer.
    input: JSON.parse(input) as JsonValue,
    ...(prepared !== undefined && { prepared: JSON.parse(prepared) as JsonValue }),
    abilities: task.abilities,
    ...(task.timeoutMs !== undefined && { timeoutMs: task.timeoutMs }),
    activeMs: 0,
    ...(task.traceparent !== undefined && { traceparent: task.traceparent }),
  };
  return { task: record, outcome: 'created', claimed };
}

/** Whether a task of the same request may have been made, ended and deleted since, and its key with it. */
function mayBeGone({ ttlMs, keepFromEnd, keepResultMs }: NewTask, repeatAgeMs: number | undefined): boolean {
  if (repeatAgeMs === undefined) return false;
  const livesMs = Math.min(
    ttlMs ?? Number.POSITIVE_INFINITY,
    keepFromEnd === true ? keepResultMs : Number.POSITIVE_INFINITY,
  );
  return repeatAgeMs >= livesMs;
}

type Idempotency = NonNullable<CreateOptions['idempotency']>;

/** An idempotency key and the arguments it came with, as they were given and as columns. */
interface RequestKey extends ReturnType<typeof ownerColumns> {
  given: Idempotency;
  name: string;
  key: Kept;
  hash: Kept;
}

function requestKey(vault: Vault, task: NewTask, given: Idempotency): RequestKey {
  const of = { ...ownerColumns(task.principal), name: workName(task.method, task.name) };
  return { given, ...of, ...fingerprintsOf(vault, of, given.key, given.requestHash) };
}

function* findByKey(
  q: Statements,
  principal: Principal,
  request: RequestKey,
  now: number,
): Command<Created | undefined> {
  const { given, hash } = request;
  const found = yield* one(q.findKey, { ...request, plain: plain(given.key), now });
  if (found === undefined) return undefined;
  const same = [nameOf(hash), given.requestHash].includes(nameOf(found.request_hash));
  if (!same) throw new IdempotencyConflictError();
  const record = yield* readRecord(q, found.task_id, principal, now);
  if (record === undefined) return undefined;
  if (given.whileOpen === true && isTerminal(record.state)) return undefined;
  yield* run(q.countRepeat, { id: record.taskId });
  return { task: record, outcome: 'existing' };
}
