import { isObject, type Json, objectAt } from './json.ts';
import type { WireRevision } from './results.ts';
import type { Problem } from './violation.ts';

/** Progress is told to who asked for it, while the request is open, and only upwards. */
export class ProgressTokens {
  /** The last value told for each token that may be used. */
  readonly #told = new Map<unknown, number>();
  /** The same, for tasks whose requestor has no session: each of its requests is a connection of its own. */
  readonly #elsewhere: Map<unknown, number>;
  /** Tokens of several requests at a time, as only a hostile client has them: whose progress is told, nobody can say. */
  readonly #shared = new Set<unknown>();

  constructor(elsewhere: Map<unknown, number> = new Map()) {
    this.#elsewhere = elsewhere;
  }

  asked(params: Json): void {
    const token = tokenOf(params);
    if (token === undefined) return;
    if (this.#told.has(token)) this.#shared.add(token);
    this.#told.set(token, -Infinity);
    if (isObject(params['task'])) this.#elsewhere.set(token, -Infinity);
  }

  answered(revision: WireRevision, params: Json): void {
    // Of the revisions with tasks, only 2025-11-25 lets progress go on after the handle.
    if (revision === '2025-11-25' && isObject(params['task'])) return;
    this.#told.delete(tokenOf(params));
  }

  notified(params: Json): Problem[] {
    const token = params['progressToken'];
    if (this.#shared.has(token)) return [];
    const told = this.#told.has(token) ? this.#told : this.#elsewhere;
    const before = told.get(token);
    if (before === undefined)
      return [{ path: '/params/progressToken', reason: 'must be the token of an open request' }];
    const progress = Number(params['progress']);
    told.set(token, progress);
    return progress > before ? [] : [{ path: '/params/progress', reason: `must rise above ${before}` }];
  }
}

function tokenOf(params: Json): unknown {
  return objectAt(params, '_meta')['progressToken'];
}
