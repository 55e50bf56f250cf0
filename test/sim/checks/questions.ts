import type { Fact } from '../facts.ts';
import { isOwner } from '../model.ts';
import type { Check, View } from './check.ts';

/** P10: a key means one question for ever, an answer counts once, and an acknowledged answer is what the handler gets. */
export class Questions implements Check {
  readonly promise = 'P10';
  /** What handlers were given, by task and key. */
  readonly #given = new Map<string, string>();
  /** Acknowledged answers to questions the client had seen open. */
  readonly #acknowledged: { taskId: string; key: string; at: number; answer: string }[] = [];

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store' && fact.method === 'answer') yield* this.#accepted(fact, view);
    if (fact.kind === 'handler' && fact.what === 'answered') yield* this.#heard(fact, view);
    if (fact.kind === 'returned') this.#returned(fact, view);
    if (fact.kind === 'answered_all') yield* this.#inTheFile(view);
  }

  *#accepted(fact: Fact & { kind: 'store'; method: 'answer' }, view: View): Iterable<string> {
    const [taskId] = fact.args;
    const task = view.model.find(taskId);
    if (task === undefined) return;
    for (const key of fact.result ?? []) {
      if (task.answers.has(key)) yield `question ${key} of ${task.alias} was answered a second time`;
      if (task.ended !== undefined) yield `question ${key} of ${task.alias} was answered after its end`;
    }
  }

  *#heard(fact: Fact & { kind: 'handler'; key?: string; value?: string }, view: View): Iterable<string> {
    const { run, key = '', value = '' } = fact;
    const task = view.model.find(run.taskId);
    if (task === undefined) return;
    const accepted = task.answers.get(key);
    const place = `${task.id} ${key}`;
    const before = this.#given.get(place);
    if (before !== undefined && before !== value) {
      yield `the handler of ${task.alias} was given ${before} for ${key} once, and ${value} now`;
    }
    this.#given.set(place, value);
    if (accepted === undefined ? value !== '{"action":"expired"}' : value !== JSON.stringify(accepted)) {
      yield `the handler of ${task.alias} was given ${value} for ${key}; the answer was ${JSON.stringify(accepted) ?? 'none'}`;
    }
  }

  #returned({ call }: Fact & { kind: 'returned' }, view: View): void {
    const task = view.model.find(call.taskId);
    if (call.op !== 'answer' || task === undefined || !isOwner(task, call.principal)) return;
    if (call.outcome?.ok !== true || task.ended !== undefined) return;
    for (const [key, answer] of call.answers ?? []) {
      if (!call.seenOpen?.includes(key)) continue;
      this.#acknowledged.push({ taskId: task.id, key, at: view.at, answer: JSON.stringify(answer) });
    }
  }

  *#inTheFile(view: View): Iterable<string> {
    const rows = view.rows<{ task_id: string; request_key: string; question: string; answer: string | null }>(
      'select task_id, request_key, question, answer from input_requests',
    );
    const answers = new Map<string, string | null>();
    for (const { task_id, request_key, question, answer } of rows) {
      const alias = view.model.alias(task_id);
      answers.set(`${task_id} ${request_key}`, answer);
      const { message } = JSON.parse(question) as { message: string };
      if (message !== request_key) yield `key ${request_key} of ${alias} stands for question ${message}`;
      const accepted = view.model.find(task_id)?.answers.get(request_key);
      if (accepted !== undefined && JSON.stringify(accepted) !== answer) {
        yield `${alias} accepted ${JSON.stringify(accepted)} for ${request_key} and has ${answer} in the file`;
      }
    }
    for (const { taskId, key, at, answer } of this.#acknowledged) {
      if (answers.get(`${taskId} ${key}`) !== null) continue;
      yield `answer ${answer} to ${key} of ${view.model.alias(taskId)} was acknowledged at ${at} and is gone`;
    }
  }
}
