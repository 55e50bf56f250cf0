import { DEFAULTS, type RetryPolicy, type ToolHints, workerLostRule } from '../core/index.ts';
import type { Definition } from './definition.ts';

/** How a call is served that could be a task, from a client that knows no tasks. */
export interface FallbackOptions {
  /**
   * `detach`: a call that takes longer than `detachAfterMs` is answered with a note how to go on; `block`: it waits;
   * `refuse`: it is an error. @default 'detach'
   */
  mode?: 'detach' | 'block' | 'refuse';
  /** How long a call may take before it is answered without its result, in milliseconds. @default 20 s, or by client */
  detachAfterMs?: number;
  /** How long a blocking call waits, in milliseconds, before it is answered without its result after all. @default 10 min */
  maxBlockMs?: number;
}

/** What holds for everything that runs as a task. */
export interface TaskOptions {
  /** Milliseconds from creation until the task is given up or forgotten; null: never. @default 7 days, at most 30 */
  ttlMs?: number | null;
  /** How long a result is kept at least, in milliseconds. @default 24 hours */
  keepResultMs?: number;
  /** Milliseconds of active time, over all attempts, after which the task fails. @default no limit */
  timeoutMs?: number;
  /** A fixed hint for pollers, in milliseconds. @default 1 s, rising with age to 30 s */
  pollIntervalMs?: number;
  /** How many tasks of this tool run at once in one process; the others wait. @default as many as there are slots */
  concurrency?: number;
  /** How often the handler may be started, lost workers included. @default 3 */
  maxAttempts?: number;
  /**
   * What happens when the process that runs the handler dies. @default 'rerun' for tools annotated read-only and
   * idempotent, for prompts and for resources; others go on if a step or question was recorded and fail ("interrupted") if
   * not
   */
  onWorkerLost?: 'rerun' | 'resume' | 'fail';
  /**
   * Try a handler that throws again: with waits that double from one second to five minutes, or as given, until
   * `maxAttempts` is used up or it throws a {@link NonRetryableError}. @default false: a thrown error ends the task
   */
  retry?: boolean | Partial<RetryPolicy>;
  /** How clients without tasks are served. @default what the server says */
  fallback?: FallbackOptions;
  /**
   * A client without tasks that calls the tool again, with the same arguments and while the first call still runs, joins
   * that instead of starting another. Callers nobody knows never join. @default true
   */
  joinRunning?: boolean;
  /** Recorded with each task, to notice that a handler changed under running tasks. */
  version?: string;
  /** Fail a task whose handler changed under it (version or order of steps), instead of warning. @default false */
  strict?: boolean;
}

/** What holds where a tool says nothing else. */
export interface TaskDefaults {
  ttlMs: number | null;
  keepResultMs: number;
  maxAttempts: number;
}

/** @throws {TypeError} {RangeError} naming the option and what was expected. @param what whose options they are */
export function checkTaskOptions(task: TaskOptions & { support?: unknown }, what: string, supports: string[]): void {
  const oneOf = (field: 'support' | 'onWorkerLost', allowed: readonly string[]): void => {
    const value = task[field];
    if (value !== undefined && !allowed.includes(value as string)) {
      throw new TypeError(`${what}: task.${field} must be one of ${allowed.join(', ')}; got ${JSON.stringify(value)}`);
    }
  };
  oneOf('support', supports);
  oneOf('onWorkerLost', ['rerun', 'resume', 'fail']);
  const { backoffMs, maxBackoffMs } = typeof task.retry === 'object' ? task.retry : {};
  for (const [field, value] of Object.entries({ backoffMs, maxBackoffMs })) {
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw new RangeError(`${what}: task.retry.${field} must be milliseconds of at least 0, got ${String(value)}`);
  }
  if (task.fallback !== undefined) checkFallback(task.fallback, `${what}: task.fallback`);
  for (const field of ['ttlMs', 'keepResultMs', 'timeoutMs', 'pollIntervalMs', 'maxAttempts', 'concurrency'] as const) {
    const value = task[field];
    if (value === undefined || (field === 'ttlMs' && value === null)) continue;
    if (!Number.isSafeInteger(value) || (value as number) < 1) {
      throw new RangeError(`${what}: task.${field} must be a whole number of at least 1, got ${JSON.stringify(value)}`);
    }
  }
}

/** @throws {TypeError} {RangeError} naming the option and what was expected. */
export function checkFallback({ mode, detachAfterMs, maxBlockMs }: FallbackOptions, where: string): void {
  if (mode !== undefined && !['detach', 'block', 'refuse'].includes(mode)) {
    throw new TypeError(`${where}.mode must be 'detach', 'block' or 'refuse', got ${String(mode)}`);
  }
  for (const [field, value] of Object.entries({ detachAfterMs, maxBlockMs })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue;
    throw new RangeError(`${where}.${field} must be a whole number of milliseconds of at least 0, got ${value}`);
  }
}

/** What the options say to the engine. @param hints what is known of the work itself */
export function definitionOptions(
  task: TaskOptions,
  defaults: TaskDefaults,
  hints: ToolHints,
): Omit<Definition, 'method' | 'name' | 'run'> {
  return {
    ...(task.version !== undefined && { version: task.version }),
    ttlMs: task.ttlMs === undefined ? defaults.ttlMs : task.ttlMs,
    keepResultMs: task.keepResultMs ?? defaults.keepResultMs,
    ...(task.timeoutMs !== undefined && { timeoutMs: task.timeoutMs }),
    ...(task.pollIntervalMs !== undefined && { pollIntervalMs: task.pollIntervalMs }),
    maxAttempts: task.maxAttempts ?? defaults.maxAttempts,
    ...(task.concurrency !== undefined && { concurrency: task.concurrency }),
    onWorkerLost: workerLostRule(task.onWorkerLost, hints),
    ...retryOf(task.retry),
    strict: task.strict ?? false,
  };
}

function retryOf(retry: TaskOptions['retry']): { retry?: RetryPolicy } {
  if (retry === undefined || retry === false) return {};
  const { backoffMs = DEFAULTS.retryBackoffMs, maxBackoffMs = DEFAULTS.retryMaxBackoffMs } =
    retry === true ? {} : retry;
  return { retry: { backoffMs, maxBackoffMs: Math.max(backoffMs, maxBackoffMs) } };
}
