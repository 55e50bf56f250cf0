import { isJsonObject } from '../core/index.ts';

/** Nobody's message is as deep as that, and whatever walks one, the SDK included, still has stack enough. */
const MAX_DEPTH = 1_000;

/** Whether there are more levels of lists and objects in a message than {@link MAX_DEPTH}. */
export function isTooDeep(message: unknown): boolean {
  let level: unknown[] = [message];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const inside of Object.values(value)) if (typeof inside === 'object' && inside !== null) next.push(inside);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}

/** The answer to such a message. */
export function encodeTooDeep(message: unknown): object {
  const { id } = isJsonObject(message) && 'method' in message ? message : {};
  const error = { code: -32600, message: `Invalid Request: nested more than ${MAX_DEPTH} levels deep` };
  return { jsonrpc: '2.0', ...((typeof id === 'string' || Number.isSafeInteger(id)) && { id }), error };
}
