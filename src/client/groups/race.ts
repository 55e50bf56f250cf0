import type { JsonObject } from '../../core/index.ts';
import { type Call, resultOf } from '../call.ts';
import type { CallGroup } from './group.ts';

/** The call that was first, and its result. */
export interface RaceWon {
  call: Call;
  result: JsonObject;
}

/**
 * The first call that ends with a result. One with `isError` only wins when no other call does better.
 * @throws {AggregateError} when none ends with a result: `errors` in the order in which they were asked for.
 */
export async function firstResult(group: CallGroup, losers: 'cancel' | 'leave'): Promise<RaceWon> {
  let second: RaceWon | undefined;
  const errors: unknown[] = [];
  for await (const { call, index, end } of group.ends()) {
    if (end.kind === 'completed') {
      const won = { call, result: end.result };
      if (end.result.isError === true) {
        second ??= won;
        continue;
      }
      if (losers === 'cancel') await group.cancel(); // Those that are over stay as they are.
      return won;
    }
    try {
      resultOf(call.id, end);
    } catch (error) {
      errors[index] = error;
    }
  }
  if (second !== undefined) return second;
  throw new AggregateError(errors, `none of ${group.calls.length} calls ended with a result`);
}
