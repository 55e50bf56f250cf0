const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Defaults of everything that can be configured. Durations in milliseconds, sizes in bytes. */
export const DEFAULTS = {
  ttlMs: 7 * DAY,
  maxTtlMs: 30 * DAY,
  /** Where an id is all that protects a task, fewer of them should lie about. */
  anonymousTtlMs: 24 * HOUR,
  keepResultMs: 24 * HOUR,
  leaseMs: 30 * SECOND,
  heartbeatMs: 10 * SECOND,
  holdInputMs: 20 * SECOND,
  /** How long a task that ran into its TTL stays readable, so that pollers learn why it is gone. */
  expiredGraceMs: 60 * SECOND,
  /** How often the engine looks for expired leases, expired tasks and work it was not told about. */
  sweepMs: SECOND,
  slots: 64,
  attendedSlots: 16,
  maxAttempts: 3,
  retryBackoffMs: SECOND,
  retryMaxBackoffMs: 5 * 60 * SECOND,
  /** How long a handler that was told to stop may take before it counts as leaked. */
  stopGraceMs: 5 * SECOND,
  /** A keyed request whose caller vanished waits this long for its repeat. */
  orphanGraceMs: 60 * SECOND,
  maxArgumentBytes: 4 * 1024 * 1024,
  maxResultBytes: 16 * 1024 * 1024,
  maxOpenTasksPerPrincipal: 1_000,
  /** Ten times what `pollIntervalMs` asks for: nobody who honours it ever waits. */
  maxPollsPerSecond: 10,
  maxWaitingPolls: 1_000,
  maxStepsPerTask: 10_000,
  maxLogBytesPerTask: 50 * 1024 * 1024,
} as const;
