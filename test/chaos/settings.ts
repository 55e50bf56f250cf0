/** Of every process on the file: short enough that all that takes its time happens within a round. */
export const settings = {
  leaseMs: 2_000,
  holdInputMs: 250,
  stopGraceMs: 500,
  drainMs: 300,
} as const;

/** A drain, with time for a busy machine. One that takes longer is stuck. */
export const EXIT_WITHIN_MS = 8_000;
/** Long enough that a stopped worker's tasks are taken from it: the lease, the grace, and a sweep or two. */
export const LONG_STOP_MS = 2 * settings.leaseMs + 2_500;
