import { isTerminal } from '../../../src/core/index.ts';
import type { Lease } from '../../../src/store/index.ts';
import type { Fact } from '../facts.ts';
import { resultOf } from '../model.ts';
import { type Check, recordOf, type View } from './check.ts';

const FENCED = ['finish', 'release', 'recordStep', 'ask', 'report', 'appendLog'];

/** P3: at most one live lease, and whoever has an older one changes nothing. */
export class Leases implements Check {
  readonly promise = 'P3';
  /** The newest progress that clients saw, by task: its version, and the fence its message names. */
  readonly #progress = new Map<string, { version: number; fence: number }>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store') yield* this.#store(fact, view);
    if (fact.kind === 'returned') yield* this.#seen(fact, view);
    if (fact.kind === 'power_cut') this.#progress.clear(); // Progress is written lazily.
    if (fact.kind === 'answered_all') yield* this.#inTheFile(view);
  }

  *#store(fact: Fact & { kind: 'store' }, view: View): Iterable<string> {
    if (fact.method === 'create' && fact.result.claimed !== undefined) {
      yield* this.#claimed(fact.process, fact.result.claimed.lease, view);
    }
    if (fact.method === 'claim') for (const { lease } of fact.result) yield* this.#claimed(fact.process, lease, view);
    if (fact.method === 'recover' && fact.result === 'applied') yield* this.#taken(fact.process, fact.args[0], view);
    if (FENCED.includes(fact.method) && fact.result === 'applied') {
      const lease = fact.args[0] as Lease;
      const task = view.model.find(lease.taskId);
      if (task === undefined || task.lease?.fence === lease.fence) return;
      const now = task.lease === undefined ? 'nobody has the lease' : `the lease has fence ${task.lease.fence}`;
      yield `${fact.process}'s ${fact.method} on ${task.alias} under fence ${lease.fence} was applied, while ${now}`;
    }
  }

  *#claimed(process: string, lease: Lease, view: View): Iterable<string> {
    const task = view.model.find(lease.taskId);
    if (task === undefined) return;
    if (task.ended !== undefined) yield `${process} was given ${task.alias}, which is over`;
    if (task.lease !== undefined) {
      yield `${process} was given ${task.alias} under fence ${lease.fence}, while ${task.lease.process} has it under ${task.lease.fence}`;
    }
    if (lease.fence <= task.maxFence)
      yield `${task.alias} was leased under fence ${lease.fence} after ${task.maxFence}`;
  }

  /** A lease may be taken away when it has run out, or when its owner is dead. */
  *#taken(process: string, lost: { taskId: string; fence: number }, view: View): Iterable<string> {
    const task = view.model.find(lost.taskId);
    if (task?.lease === undefined || task.lease.fence !== lost.fence) return;
    const { lease } = task;
    if (view.isAlive(lease.process) && !lease.ranOut) {
      yield `${process} took ${task.alias} from ${lease.process}, which is alive and has it for ${lease.until - view.wall} ms more`;
    }
  }

  *#seen(fact: Fact & { kind: 'returned' }, view: View): Iterable<string> {
    const record = recordOf(fact);
    if (record === undefined) return;
    const alias = view.model.alias(record.taskId);
    if (isTerminal(record.state)) {
      const made = resultOf(record.state);
      const fence = view.model.find(record.taskId)?.ended?.fence;
      if (made !== undefined && fence !== undefined && made.fence !== fence) {
        yield `the result of ${alias} was made under fence ${made.fence} and kept under ${fence}`;
      }
      return;
    }
    const fence = fenceOf(record.progress?.message);
    const newest = this.#progress.get(record.taskId);
    if (fence === undefined) return;
    if (newest !== undefined && record.version > newest.version && fence < newest.fence) {
      yield `the progress of ${alias} went back from fence ${newest.fence} to ${fence}`;
    }
    if (newest === undefined || record.version > newest.version) {
      this.#progress.set(record.taskId, { version: record.version, fence });
    }
  }

  *#inTheFile(view: View): Iterable<string> {
    let [task, newest] = ['', 0];
    for (const row of view.rows<{ task_id: string }>('select * from logs order by task_id, rowid')) {
      for (const [, found] of JSON.stringify(row).matchAll(/f(\d+) r\d+/g)) {
        const fence = Number(found);
        if (row.task_id === task && fence < newest) {
          yield `the log of ${view.model.alias(task)} goes back from fence ${newest} to ${fence}`;
        }
        [task, newest] = [row.task_id, fence];
      }
    }
    const steps = view.rows<{ task_id: string; step_key: string; fence: number; body: string | null }>(
      'select task_id, step_key, fence, body from steps',
    );
    for (const { task_id, step_key, fence, body } of steps) {
      const recorded = view.model.find(task_id)?.steps.get(step_key);
      if (recorded !== undefined && (recorded.fence !== fence || JSON.stringify(recorded.value) !== body)) {
        yield `step ${step_key} of ${view.model.alias(task_id)} was recorded as ${recorded.value} and is ${body} in the file`;
      }
    }
  }
}

/** The handlers of the simulation write their fence into what they report: `f3`. */
function fenceOf(text: string | undefined): number | undefined {
  const found = /^f(\d+)/.exec(text ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}
