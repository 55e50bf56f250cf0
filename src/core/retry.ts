import { type RandomSource, randomFraction } from './random.ts';

/** How often and how far apart a handler that throws is tried again. */
export interface RetryPolicy {
  /** Wait after the first failure, in milliseconds; doubled after each further one. */
  backoffMs: number;
  /** No wait is longer, in milliseconds, unless the error itself asks for it. */
  maxBackoffMs: number;
}

/** Thrown by a handler or a step: trying again is pointless. A step that throws it is not run again either. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
}

/** Thrown by a handler that knows when trying again makes sense, e.g. from a service's Retry-After. */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options);
    if (!Number.isFinite(retryAfterMs) || retryAfterMs < 0) {
      throw new RangeError(`RetryAfterError: retryAfterMs must be a number of milliseconds, got ${retryAfterMs}`);
    }
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * How long to wait before the next attempt, in milliseconds; undefined when there is none. The wait is jittered
 * downwards by up to half, so that tasks that failed together do not come back together.
 */
export function retryDelayMs(
  error: unknown,
  attempts: { made: number; max: number },
  policy: RetryPolicy | undefined,
  random: RandomSource,
): number | undefined {
  if (policy === undefined || attempts.made >= attempts.max || error instanceof NonRetryableError) return undefined;
  if (error instanceof RetryAfterError) return error.retryAfterMs;
  const full = Math.min(policy.maxBackoffMs, policy.backoffMs * 2 ** (attempts.made - 1));
  return Math.round(full * (1 - randomFraction(random) / 2));
}

/** After the first read that went wrong; doubled after each further one in a row. */
const READ_RETRY_MIN_MS = 1_000;
const READ_RETRY_MAX_MS = 60_000;
/** Nobody is left alone longer, however long they ask for. */
const RETRY_AFTER_MAX_MS = 3_600_000;
/** Always upwards: what was asked for is never undercut. */
const READ_RETRY_JITTER = 0.2;

/**
 * Milliseconds until something that harms nothing is tried again, after `failures` in a row without an answer: doubled each time,
 * and never sooner than the other side asked for.
 */
export function retryReadDelayMs(failures: number, retryAfterMs: unknown, random: RandomSource): number {
  const doubled = Math.min(READ_RETRY_MIN_MS * 2 ** Math.min(failures - 1, 16), READ_RETRY_MAX_MS);
  const jittered = doubled * (1 + READ_RETRY_JITTER * randomFraction(random));
  const asked = typeof retryAfterMs === 'number' && Number.isFinite(retryAfterMs) ? retryAfterMs : 0;
  return Math.ceil(Math.max(jittered, Math.min(asked, RETRY_AFTER_MAX_MS)));
}
