import { DEFAULTS, pollIntervalMs, type RandomSource, randomFraction } from '../../core/index.ts';

/** Nobody is left alone longer, whatever they say. */
const MAX_POLL_MS = 3_600_000;
/** Always upwards: what a job asks for is never undercut. */
const JITTER = 0.2;
/** So long a handler waits in memory for a job that tells of news; then it is put away. As with questions. */
const HOLD_MS = DEFAULTS.holdInputMs;
/** Put away, it looks by itself once in a while, should nobody have woken it. */
const LEAST_NET_MS = 30_000;
const LONGEST_NET_MS = 15 * 60_000;
const NET_SHARE = 1 / 8;

/** Milliseconds until a job is to be asked again. @param ageMs since it was started */
export function jobPollDelayMs(ageMs: number, hintMs: unknown, random: RandomSource): number {
  const hinted = typeof hintMs === 'number' && Number.isFinite(hintMs) ? hintMs : 0;
  const base = Math.min(Math.max(hinted, pollIntervalMs(Math.max(0, ageMs))), MAX_POLL_MS);
  return Math.ceil(base * (1 + JITTER * randomFraction(random)));
}

/** The same for a job that tells of its news: polling is the net. */
export function jobNetDelayMs(ageMs: number): number {
  if (ageMs < HOLD_MS) return HOLD_MS - Math.max(0, ageMs);
  return Math.min(Math.max(LEAST_NET_MS, ageMs * NET_SHARE), LONGEST_NET_MS);
}
