export { type Clock, systemClock, type Timer, untilNext } from './clock.ts';
export { DEFAULTS } from './defaults.ts';
export * from './errors.ts';
export { fingerprint } from './fingerprint.ts';
export type {
  JobAdapter,
  JobCaps,
  JobContext,
  JobEnd,
  JobHint,
  JobLogLine,
  JobLogPage,
  JobSnapshot,
} from './job.ts';
export { canonicalJson, encodeJson, isJsonObject, type JsonObject, type JsonValue } from './json.ts';
export { indented, logText, MAX_LOG_LINE_BYTES, onOneLine } from './log-text.ts';
export type { Logger } from './logger.ts';
export { plainText } from './plain-text.ts';
export { MAX_POLL_INTERVAL_MS, MIN_POLL_INTERVAL_MS, pollIntervalMs } from './polling.ts';
export { ANONYMOUS_PRINCIPAL, isAnonymous, LOCAL_PRINCIPAL, type Principal, principalKey } from './principal.ts';
export { type Answer, type InputRequests, type Question, questionKey, questionText } from './question.ts';
export { newTaskId, type RandomSource, randomFraction, shortId, systemRandom, type TaskId } from './random.ts';
export { Recent } from './recent.ts';
export {
  recoveryDecision,
  type ToolHints,
  type WorkerLostRule,
  workerLostRule,
} from './recovery.ts';
export { errorKind, loggedAs, withoutMessages } from './redaction.ts';
export { NonRetryableError, RetryAfterError, type RetryPolicy, retryDelayMs, retryReadDelayMs } from './retry.ts';
export { type FieldSchema, fieldOf, itemTypesOf, typeName } from './schema-field.ts';
export * from './standard-schema.ts';
export {
  isTerminal,
  isTerminalStatus,
  type RpcErrorObject,
  TASK_STATUSES,
  type TaskState,
  type TaskStatus,
  type TerminalState,
} from './state.ts';
export type { NewTask, RequestorAbilities, TaskProgress, TaskRecord } from './task.ts';
export { taskLogUri } from './task-uri.ts';
export { type TaskEvent, transition } from './transition.ts';
export { unreachable } from './unreachable.ts';
export { nameOfWork, workName } from './work-name.ts';
