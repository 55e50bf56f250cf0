import { isObject, type Json, objectAt } from './json.ts';
import type { WireRevision } from './results.ts';
import type { Problem } from './violation.ts';

/** Progress is told to who asked for it, while the request is open, and only upwards. */
export class ProgressTokens {
  /** The last value told for each token that may be used. */
  readonly #told = new Map<unknown, number>();

  asked(params: Json): void {
    const token = tokenOf(params);
    if (token !== undefined) this.#told.set(token, -Infinity);
  }

  answered(revision: WireRevision, params: Json): void {
    // Of the revisions with tasks, only 2025-11-25 lets progress go on after the handle.
    if (revision === '2025-11-25' && isObject(params['task'])) return;
    this.#told.delete(tokenOf(params));
  }

  notified(params: Json): Problem[] {
    const before = this.#told.get(params['progressToken']);
    if (before === undefined)
      return [{ path: '/params/progressToken', reason: 'must be the token of an open request' }];
    const progress = Number(params['progress']);
    this.#told.set(params['progressToken'], progress);
    return progress > before ? [] : [{ path: '/params/progress', reason: `must rise above ${before}` }];
  }
}

function tokenOf(params: Json): unknown {
  return objectAt(params, '_meta')['progressToken'];
}
