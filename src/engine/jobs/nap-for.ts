import type { JsonValue } from '../../core/index.ts';
import type { JobState } from './job-state.ts';
import type { OneStart } from './one-start.ts';

/**
 * Waits `ms` or until `early`, but no longer than the job may take. A long wait puts the task away.
 * @throws when the job has taken too long.
 */
export async function napFor<Args, Ref extends JsonValue>(
  { support, options, place, name }: OneStart<Args, Ref>,
  state: JobState,
  ms: number,
  early: Promise<unknown> = new Promise(() => {}),
): Promise<void> {
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return support.nap(`job ${place}`, ms, early);
  const leftMs = (): number => state.now.since + timeoutMs - support.now();
  if (leftMs() > 0) await support.nap(`job ${place}`, Math.min(ms, leftMs()), early);
  if (leftMs() > 0) return;
  throw new Error(`timed out: ${name} took longer than the tool's limit (timeoutMs) of ${timeoutMs} ms`);
}
