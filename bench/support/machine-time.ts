/** Milliseconds on the machine's monotonic clock, which all of its processes share (Linux: CLOCK_MONOTONIC). */
export function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
