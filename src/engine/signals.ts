const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs `stop` once on the first SIGTERM or SIGINT, then lets the signal have its usual effect. A second signal has it at
 * once: what was acknowledged is on disk, and what was running is found by the next process.
 * @returns the function that takes the handlers away
 */
export function stopOnSignals(stop: () => Promise<void>): () => void {
  const remove = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    remove();
    // Timers never keep a process alive here, so draining has to.
    const keepAlive = setInterval(() => {}, 60_000);
    const end = (): void => {
      clearInterval(keepAlive);
      // Programs with handlers of their own decide for themselves when to exit.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    stop().then(end, end);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return remove;
}
