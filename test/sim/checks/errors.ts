import type { Fact } from '../facts.ts';
import { type Check, failureOf } from './check.ts';

const EXPECTED = ['STORE_UNAVAILABLE', 'STORE_CLOSED', 'TASK_NOT_FOUND', 'ANSWER_INVALID', 'IDEMPOTENCY_CONFLICT'];

/** Callers see the errors that are documented, and no others. */
export class Errors implements Check {
  readonly promise = 'errors';

  *on(fact: Fact): Iterable<string> {
    const failure = failureOf(fact) ?? (fact.kind === 'store_failed' ? fact.error : undefined);
    if (failure === undefined || EXPECTED.includes((failure as { code?: string }).code ?? '')) return;
    yield `${fact.kind === 'returned' ? fact.call.op : 'a store call'} threw ${failure.name}: ${failure.message}`;
  }
}
