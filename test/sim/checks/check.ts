import type { Call, Fact } from '../facts.ts';
import type { Model } from '../model.ts';

/** What a checker may look at besides the facts: what was known before the fact at hand, time, and the file. */
export interface View {
  readonly model: Model;
  readonly calls: readonly Call[];
  /** The number of the fact at hand. */
  readonly at: number;
  readonly wall: number;
  /** Milliseconds since the run began. */
  readonly elapsed: number;
  /** The extremes of wall time from the fact numbered `at` until now. */
  latestWallSince(at: number): number;
  earliestWallSince(at: number): number;
  isAlive(process: string): boolean;
  rows<Row>(sql: string): Row[];
}

/**
 * Watches one promise from outside: what clients were told, what handlers did, what the store answered and what the file
 * holds. Yields a sentence for each way in which it is broken.
 */
export interface Check {
  /** As in the list of promises, e.g. `P2`. */
  promise: string;
  on(fact: Fact, view: View): Iterable<string>;
}

/** The record a client was given, if the fact is one. */
export function recordOf(fact: Fact) {
  if (fact.kind !== 'returned' || fact.call.outcome?.ok !== true) return undefined;
  const { value } = fact.call.outcome;
  return typeof value === 'object' ? value : undefined;
}

export function failureOf(fact: Fact): { name: string; code?: string; message: string } | undefined {
  return fact.kind === 'returned' && fact.call.outcome?.ok === false ? fact.call.outcome.error : undefined;
}

/** How long an expired task stays readable. */
export const EXPIRED_GRACE_MS = 60_000;
