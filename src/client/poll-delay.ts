import { type RandomSource, randomFraction } from '../core/index.ts';

export interface PollLimits {
  /** Never poll one task faster than this, in milliseconds, whatever its server says. */
  minPollMs: number;
  /** Never wait longer than this, in milliseconds, whatever the server says. */
  maxPollMs: number;
}

/** Two requests a second at most; an hour for a task that asks for years. */
export const POLL_LIMITS: PollLimits = { minPollMs: 500, maxPollMs: 3_600_000 };

/** Where the server gives no hint: from a second up to five. */
const UNHINTED_MIN_MS = 1_000;
const UNHINTED_MAX_MS = 5_000;
/** With age the interval grows to this at most by itself: an end is noticed within a tenth of the run. */
const GROWTH_MAX_MS = 30_000;
/** Where the server pushes, polling is only the net. */
const NET_MS = 30_000;
/** Always upwards: a server's interval is never undercut. */
const JITTER = 0.2;

export interface PollSituation {
  /** What the server said last; anything that is no positive number counts as nothing said. */
  hintMs: unknown;
  /** Since the handle was received. */
  ageMs: number;
  /** Whether the server pushes changes of this task. */
  pushed: boolean;
}

/** Milliseconds until the next poll. */
export function pollDelayMs(situation: PollSituation, limits: PollLimits, random: RandomSource): number {
  const { hintMs, ageMs, pushed } = situation;
  const tenth = Math.max(0, ageMs) / 10;
  const hinted = typeof hintMs === 'number' && Number.isFinite(hintMs) && hintMs > 0;
  const base = hinted
    ? Math.max(hintMs, Math.min(tenth, GROWTH_MAX_MS))
    : Math.min(Math.max(tenth, UNHINTED_MIN_MS), UNHINTED_MAX_MS);
  const wanted = Math.max(base, pushed ? NET_MS : 0);
  const bounded = Math.min(Math.max(wanted, limits.minPollMs), limits.maxPollMs);
  return Math.ceil(bounded * (1 + JITTER * randomFraction(random)));
}
