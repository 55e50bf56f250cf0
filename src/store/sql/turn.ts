/** Lets everything that waits go first. By the global function, which simulations replace. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
