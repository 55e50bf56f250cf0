import { canonicalJson, isTerminal, type JsonValue } from '../../../src/core/index.ts';
import type { Fact } from '../facts.ts';
import { type Check, recordOf, type View } from './check.ts';

/** P2: terminal is final. Every look at a finished task, in a process or in the file, shows what the first one showed. */
export class Final implements Check {
  readonly promise = 'P2';
  readonly #first = new Map<string, { at: number; status: string; state: string | undefined }>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'returned') yield* this.#returned(fact, view);
    if (fact.kind === 'settled' || fact.kind === 'answered_all') yield* this.#inTheFile(view);
  }

  *#returned(fact: Fact & { kind: 'returned' }, view: View): Iterable<string> {
    const { call } = fact;
    if (call.taskId === undefined || call.outcome?.ok !== true) return;
    const alias = view.model.alias(call.taskId);
    const first = this.#first.get(call.taskId);
    if (call.outcome.value === 'cancelled') {
      const state = canonicalJson({ status: 'cancelled', reason: call.reason ?? null });
      if (first !== undefined && first.state !== state) {
        yield `${alias} was ${first.state ?? first.status} at ${first.at} and could be cancelled later`;
      } else if (first === undefined) this.#first.set(call.taskId, { at: view.at, status: 'cancelled', state });
    }
    const record = recordOf(fact);
    if (record === undefined) return;
    if (!isTerminal(record.state)) {
      if (first !== undefined && first.at < call.invokedAt) {
        yield `${alias} was ${first.status} at ${first.at} and is ${record.state.status} now`;
      }
      return;
    }
    const state = canonicalJson(record.state as unknown as JsonValue);
    if (first?.state === undefined) this.#first.set(call.taskId, { at: view.at, status: record.state.status, state });
    else if (first.state !== state) yield `${alias} was ${first.state} at ${first.at} and is ${state} now`;
  }

  *#inTheFile(view: View): Iterable<string> {
    for (const { id, status } of view.rows<{ id: string; status: string }>('select id, status from tasks')) {
      const first = this.#first.get(id);
      if (first !== undefined && first.status !== status) {
        yield `${view.model.alias(id)} was ${first.status} at ${first.at} and is ${status} in the file`;
      }
    }
  }
}
