import type { HttpAnswer } from './answer.ts';
import { HttpTroubleError } from './errors.ts';

/** Answers that say that nothing was begun. */
export const NOT_NOW: readonly number[] = [408, 425, 429];

/** What a service answers that cannot say now, or not to us: it is asked again. */
export function troubleBy({ status, url, retryAfterMs }: HttpAnswer): HttpTroubleError {
  return new HttpTroubleError(`${url.origin} answered ${status}`, {
    code: `HTTP_${status}`,
    retryAfterMs,
    mayHaveStarted: !NOT_NOW.includes(status),
  });
}
