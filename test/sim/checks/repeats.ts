import { canonicalJson } from '../../../src/core/index.ts';
import type { Fact } from '../facts.ts';
import { type Check, failureOf, type View } from './check.ts';

interface Keyed {
  taskId: string;
  input: string;
  /** How often it was asked for again, less the requests that broke off. */
  repeats: number;
}

/** P8: the same key with the same arguments is the same task, with other arguments an error; for as long as its TTL. */
export class Repeats implements Check {
  readonly promise = 'P8';
  readonly #tasks = new Map<string, Keyed>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store' && fact.method === 'create') yield* this.#created(fact, view);
    if (fact.kind === 'store_failed' && failedCode(fact.error) === 'IDEMPOTENCY_CONFLICT') {
      const [task, options] = fact.args as Parameters<typeof place>;
      const first = this.#tasks.get(place(task, options) ?? '');
      if (first === undefined || first.input === canonicalJson(task.input)) yield 'a repeated create was refused';
    }
    if (fact.kind === 'store' && fact.method === 'cancelOrphan') {
      const keyed = [...this.#tasks.values()].find(({ taskId }) => taskId === fact.args[0]);
      if (keyed !== undefined && keyed.repeats > 0 && fact.result === 'cancelled')
        yield `${view.model.alias(keyed.taskId)} was given up, though its caller had come again`;
      if (keyed !== undefined && keyed.repeats > 0) keyed.repeats -= 1;
    }
    if (failureOf(fact)?.code === 'IDEMPOTENCY_CONFLICT' && fact.kind === 'returned' && fact.call.key === undefined) {
      yield 'a create without a key was refused because of its key';
    }
  }

  *#created(fact: Fact & { kind: 'store'; method: 'create' }, view: View): Iterable<string> {
    const [task, options] = fact.args;
    const key = place(task, options);
    if (key === undefined) return;
    const first = this.#tasks.get(key);
    const { taskId } = fact.result.task;
    const model = view.model.find(first?.taskId);
    const known =
      model !== undefined &&
      (model.ttlMs === null || view.latestWallSince(model.created.at) < model.created.wall + model.ttlMs);
    if (fact.result.outcome === 'created') {
      if (known) yield `a repeated create made a second task beside ${model.alias}`;
      this.#tasks.set(key, { taskId, input: canonicalJson(task.input), repeats: 0 });
      return;
    }
    if (first === undefined) yield 'a create was answered with a task that its key never made';
    else if (first.taskId !== taskId) yield `a repeated create was answered with another task than ${model?.alias}`;
    else if (first.input !== canonicalJson(task.input)) yield `other arguments were answered with ${model?.alias}`;
    else first.repeats += 1;
  }
}

/** Whose key it is, and for which tool. */
function place(
  task: { principal: object; name: string; input: Parameters<typeof canonicalJson>[0] },
  options: { idempotency?: { key: string } } | undefined,
): string | undefined {
  const key = options?.idempotency?.key;
  return key === undefined ? undefined : JSON.stringify([task.principal, task.name, key]);
}

function failedCode(error: Error): string | undefined {
  return (error as { code?: string }).code;
}
