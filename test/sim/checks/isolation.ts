import type { Fact } from '../facts.ts';
import { isOwner } from '../model.ts';
import { type Check, failureOf, type View } from './check.ts';

/** P9: a stranger finds nothing and changes nothing. */
export class Isolation implements Check {
  readonly promise = 'P9';

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'returned') {
      const { op, taskId, principal, outcome } = fact.call;
      const task = view.model.find(taskId);
      if (task === undefined || isOwner(task, principal)) return;
      if (outcome?.ok === true) yield `a stranger's ${op} on ${task.alias} was answered`;
      else if (failureOf(fact)?.code === 'ANSWER_INVALID') yield `a stranger learned of the questions of ${task.alias}`;
    }
    if (fact.kind === 'store' && (fact.method === 'answer' || fact.method === 'cancel')) {
      const [taskId, principal] = fact.args;
      const task = view.model.find(taskId);
      if (task === undefined || isOwner(task, principal)) return;
      if (fact.result !== undefined) yield `a stranger's ${fact.method} reached ${task.alias}`;
    }
  }
}
