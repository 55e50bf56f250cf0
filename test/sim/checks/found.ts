import type { Fact } from '../facts.ts';
import { isOwner, type TaskModel } from '../model.ts';
import { type Check, EXPIRED_GRACE_MS, failureOf, type View } from './check.ts';

/** P1: a task that a client was told of is found until its time is over. A create that failed leaves nothing. */
export class Found implements Check {
  readonly promise = 'P1';
  readonly #refused = new Set<string>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store_failed' && fact.method === 'create') {
      this.#refused.add((fact.args[0] as { taskId: string }).taskId);
    }
    if (failureOf(fact)?.code === 'TASK_NOT_FOUND') yield* this.#missed(fact, view);
    if (fact.kind === 'settled') yield* this.#inTheFile(view);
  }

  *#missed(fact: Fact, view: View): Iterable<string> {
    if (fact.kind !== 'returned') return;
    const { op, taskId, principal, invokedAt } = fact.call;
    const task = view.model.find(taskId);
    if (task?.acknowledgedAt === undefined || !isOwner(task, principal) || task.acknowledgedAt > invokedAt) return;
    if (mayBeGone(task, view)) return;
    yield `${task.alias} was acknowledged at ${task.acknowledgedAt}, and ${op} did not find it before its time was over`;
  }

  *#inTheFile(view: View): Iterable<string> {
    const present = new Set(view.rows<{ id: string }>('select id from tasks').map(({ id }) => id));
    for (const task of view.model.tasks.values()) {
      if (task.acknowledgedAt === undefined || present.has(task.id) || mayBeGone(task, view)) continue;
      yield `${task.alias} was acknowledged at ${task.acknowledgedAt} and is not in the file any more`;
    }
    for (const id of this.#refused) if (present.has(id)) yield 'a create that failed left a task behind';
  }
}

/** Whether wall time has ever been late enough for the task to be deleted. */
function mayBeGone(task: TaskModel, view: View): boolean {
  const { ended, created, ttlMs, keepResultMs } = task;
  if (ttlMs === null) return false;
  const endOfLife = created.wall + ttlMs;
  if (ended === undefined) return view.latestWallSince(created.at) >= endOfLife;
  const late = view.latestWallSince(ended.at);
  if (ended.how === 'expired') return late >= ended.wall + EXPIRED_GRACE_MS;
  return late >= Math.max(endOfLife, ended.wall + keepResultMs);
}
