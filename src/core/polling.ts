export const MIN_POLL_INTERVAL_MS = 1_000;
export const MAX_POLL_INTERVAL_MS = 30_000;

/**
 * How long a requestor should wait before it asks again: a tenth of the task's age, so that a poller learns of the end
 * within about 10 % of the run, whether it took ten seconds or ten hours.
 * @param ageMs milliseconds since the task was created
 */
export function pollIntervalMs(ageMs: number): number {
  const tenth = Math.round(ageMs / 10);
  return Math.min(Math.max(tenth, MIN_POLL_INTERVAL_MS), MAX_POLL_INTERVAL_MS);
}
