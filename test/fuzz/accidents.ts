type Speaking = 'log' | 'info' | 'warn' | 'error';

/**
 * Hears of what nobody has handled, and of what is written past the logger.
 * @param silent the methods of the console that nothing may use
 * @returns the function that undoes it
 */
export function hearAccidents(tell: (sentence: string) => void, silent: readonly Speaking[]): () => void {
  const told = (what: string) => (error: unknown) => tell(`${what}: ${(error as Error)?.stack ?? String(error)}`);
  const listeners = {
    unhandledRejection: told('nobody handled a rejection'),
    uncaughtException: told('an exception was not caught'),
    warning: told('Node warns'),
  };
  for (const [event, listener] of Object.entries(listeners)) process.on(event, listener);
  const before = { ...console };
  for (const method of silent) console[method] = told('something is written past the logger');
  return () => {
    for (const method of silent) console[method] = before[method];
    for (const [event, listener] of Object.entries(listeners)) process.off(event, listener);
  };
}
