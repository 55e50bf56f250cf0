import type { Fact } from '../facts.ts';
import type { TaskModel } from '../model.ts';
import { toolOf } from '../programs.ts';
import type { Check, View } from './check.ts';

/**
 * P4: what was recorded never runs again, a handler goes on only over what is recorded, and one that may not run twice
 * does not. Attempts count lost workers and asked-for retries, and nothing else.
 */
export class Work implements Check {
  readonly promise = 'P4';

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'handler') yield* this.#handler(fact, view);
    if (fact.kind === 'store' && fact.method === 'recover') yield* this.#recovered(fact, view);
    if (fact.kind === 'settled') yield* this.#inTheFile(view);
  }

  *#handler(fact: Fact & { kind: 'handler' }, view: View): Iterable<string> {
    const { run } = fact;
    const task = view.model.find(run.taskId);
    if (task === undefined) return;
    if (fact.what === 'started') {
      if (task.starts > 0 && !mayStartAgain(task)) {
        yield `${task.alias} (${task.program.tool}) was started again in ${run.process}, though it may not run twice`;
      }
      if (run.attempt > task.maxAttempts)
        yield `${task.alias} was started for the ${run.attempt}th time of at most ${task.maxAttempts}`;
      // Who lost the lease since counts by what was true when it was given.
      if (task.lease?.fence === run.fence && run.attempt !== task.spent + 1) {
        yield `${task.alias} runs as attempt ${run.attempt}, after ${task.spent} that were spent`;
      }
    }
    if (!('key' in fact)) return;
    const recorded = task.steps.get(fact.key);
    // A worker that lost its task may begin a step before it is told; nobody who has the task may.
    if (fact.what === 'working' && recorded !== undefined && run.fence >= recorded.fence) {
      yield `step ${fact.key} of ${task.alias} runs again in ${run.process}, though ${recorded.value} is recorded`;
    }
    if (fact.what === 'has' && fact.value !== recorded?.value) {
      yield `${run.process} went on with ${fact.value} for step ${fact.key} of ${task.alias}; recorded is ${recorded?.value ?? 'nothing'}`;
    }
  }

  *#recovered(fact: Fact & { kind: 'store'; method: 'recover' }, view: View): Iterable<string> {
    const [lost, decision] = fact.args;
    const task = view.model.find(lost.taskId);
    if (task === undefined || fact.result !== 'applied' || decision.action !== 'fail') return;
    if (mayStartAgain(task) && task.spent + 1 < task.maxAttempts) {
      yield `${task.alias} was given up after ${task.spent + 1} of ${task.maxAttempts} attempts`;
    }
  }

  *#inTheFile(view: View): Iterable<string> {
    const steps = view.rows<{ task_id: string; step_key: string }>('select task_id, step_key from steps');
    const present = new Set(steps.map(({ task_id, step_key }) => `${task_id} ${step_key}`));
    const tasks = view.rows<{ id: string }>('select id from tasks').map(({ id }) => view.model.find(id));
    for (const task of tasks) {
      for (const key of task?.steps.keys() ?? []) {
        if (!present.has(`${task?.id} ${key}`)) yield `step ${key} of ${task?.alias} was recorded and is gone`;
      }
    }
  }
}

function mayStartAgain(task: TaskModel): boolean {
  const { onWorkerLost } = toolOf(task.program.tool);
  if (onWorkerLost !== undefined) return onWorkerLost !== 'fail';
  return task.records > 0;
}
