/** What goes wrong at run time. Callers branch on `code`, never on `message`; `cause` passes through. */
export type TaskErrorCode =
  | 'TASK_NOT_FOUND'
  | 'ANSWER_INVALID'
  | 'INPUT_NOT_SUPPORTED'
  | 'IDEMPOTENCY_CONFLICT'
  | 'TASK_ID_TAKEN'
  | 'LIMIT_EXCEEDED'
  | 'RATE_LIMITED'
  | 'STORE_UNAVAILABLE'
  | 'STORE_CLOSED'
  | 'STORE_FAILED'
  | 'STORE_REFUSED'
  | 'STORE_SEALED'
  | 'TASK_TIMED_OUT'
  | 'TASK_CANCELLED'
  | 'TASK_INTERRUPTED';

export abstract class TaskError extends Error {
  abstract readonly code: TaskErrorCode;
}

/** The task is unknown, expired or another principal's; nobody can tell which, on purpose. */
export class TaskNotFoundError extends TaskError {
  override readonly name = 'TaskNotFoundError';
  readonly code = 'TASK_NOT_FOUND';
  constructor() {
    super('Task not found');
  }
}

/** An answer to an open question does not fit it. Nothing was recorded. */
export class AnswerInvalidError extends TaskError {
  override readonly name = 'AnswerInvalidError';
  readonly code = 'ANSWER_INVALID';
  readonly key: string;
  constructor(key: string, problem: string) {
    super(`inputResponses.${key}: ${problem}`);
    this.key = key;
  }
}

/** The handler asked a question, but the requestor never said it could answer one of that kind. */
export class InputNotSupportedError extends TaskError {
  override readonly name = 'InputNotSupportedError';
  readonly code = 'INPUT_NOT_SUPPORTED';
  constructor(question: string, what = 'form elicitation') {
    super(`cannot ask "${question}": the client declared no ${what}, or no tasks, with this call`);
  }
}

/** An idempotency key came again with other arguments. */
export class IdempotencyConflictError extends TaskError {
  override readonly name = 'IdempotencyConflictError';
  readonly code = 'IDEMPOTENCY_CONFLICT';
  constructor() {
    super('idempotency key was used before with other arguments; give a new call a new key');
  }
}

/** A requestor used the id of a task of its own for another. Nothing was created, and the task that has it is untouched. */
export class TaskIdTakenError extends TaskError {
  override readonly name = 'TaskIdTakenError';
  readonly code = 'TASK_ID_TAKEN';
  constructor() {
    super('the task id is in use already; every task needs an id of its own');
  }
}

/** A configured limit was reached. Nothing was created. */
export class LimitExceededError extends TaskError {
  override readonly name = 'LimitExceededError';
  readonly code = 'LIMIT_EXCEEDED';
}

/** Too many requests of this kind wait already. Nothing was done; after `retryAfterMs` it is worth another try. */
export class RateLimitedError extends TaskError {
  override readonly name = 'RateLimitedError';
  readonly code = 'RATE_LIMITED';
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super(`too many polls are waiting; poll no faster than pollIntervalMs, and again in ${retryAfterMs} ms`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The store cannot be used right now (disk full, I/O error, closed). Trying again later may work. */
export class StoreUnavailableError extends TaskError {
  override readonly name = 'StoreUnavailableError';
  readonly code = 'STORE_UNAVAILABLE';
}

/** The store was closed by its own process; nothing will come of trying again. */
export class StoreClosedError extends TaskError {
  override readonly name = 'StoreClosedError';
  readonly code = 'STORE_CLOSED';
  constructor() {
    super('the task store is closed');
  }
}

/** The store did what it never should (a constraint broken, a page damaged). Trying again will not help. */
export class StoreFailedError extends TaskError {
  override readonly name = 'StoreFailedError';
  readonly code = 'STORE_FAILED';
}

/** The store will not open what it was pointed at; the message says why and what to do. */
export class StoreRefusedError extends TaskError {
  override readonly name = 'StoreRefusedError';
  readonly code = 'STORE_REFUSED';
}

/**
 * Something of a task is encrypted with a key that this process was not given; the message names the key. Everything else in
 * the store goes on working, and so does this once the key is there.
 */
export class StoreSealedError extends TaskError {
  override readonly name = 'StoreSealedError';
  readonly code = 'STORE_SEALED';
  /** The id of the key; undefined where a key is missing to write with. */
  readonly keyId: string | undefined;
  constructor(message: string, keyId?: string) {
    super(message);
    this.keyId = keyId;
  }
}

/** The reason a handler's signal carries when its `timeoutMs` of active time is used up. */
export class TaskTimedOutError extends TaskError {
  override readonly name = 'TaskTimedOutError';
  readonly code = 'TASK_TIMED_OUT';
  constructor(timeoutMs: number) {
    super(`timed out: the tool's limit (timeoutMs) of ${timeoutMs} ms of active time is used up`);
  }
}

/** The reason a handler's signal carries when its task was cancelled. */
export class TaskCancelledError extends TaskError {
  override readonly name = 'TaskCancelledError';
  readonly code = 'TASK_CANCELLED';
  constructor(reason = 'the task was cancelled') {
    super(reason);
  }
}

/**
 * The reason a handler's signal carries when this run of it is over but its task is not: it was parked, handed over or
 * taken over. Stop what is running; do not undo what was done.
 */
export class TaskInterruptedError extends TaskError {
  override readonly name = 'TaskInterruptedError';
  readonly code = 'TASK_INTERRUPTED';
}
