import { isTerminal, type TaskRecord } from '../../../src/core/index.ts';
import type { Call, Fact } from '../facts.ts';
import type { TaskModel } from '../model.ts';
import { type Check, EXPIRED_GRACE_MS, recordOf, type View } from './check.ts';

/** Tables whose rows belong to a task. */
const TABLES = `select m.name from sqlite_master m join pragma_table_info(m.name) c on c.name = 'task_id' where m.type = 'table'`;

/** P11: a task lives as long as it was granted: no open one longer, no result shorter than it is kept, then all is gone. */
export class Life implements Check {
  readonly promise = 'P11';
  /** The longest TTL that was seen of each task, and the earliest version that had it. */
  readonly #granted = new Map<string, { ttlMs: number; version: number }>();

  *on(fact: Fact, view: View): Iterable<string> {
    if (fact.kind === 'store' && fact.method === 'sweep') {
      for (const id of fact.result.expired) {
        const task = view.model.find(id);
        if (task !== undefined && (task.ttlMs === null || view.wall < task.created.wall + task.ttlMs)) {
          yield `${task.alias} was ended as expired before its TTL was over`;
        }
      }
    }
    const record = recordOf(fact);
    const task = view.model.find(record?.taskId);
    if (record !== undefined && task !== undefined && fact.kind === 'returned') {
      yield* this.#seen(record, task, fact.call, view);
    }
    if (fact.kind === 'outlived') yield* this.#left(view);
  }

  *#seen(record: TaskRecord, task: TaskModel, call: Call, view: View): Iterable<string> {
    const ttlMs = record.ttlMs ?? Number.POSITIVE_INFINITY;
    const granted = this.#granted.get(task.id) ?? { ttlMs: task.ttlMs ?? Number.POSITIVE_INFINITY, version: 0 };
    if (ttlMs < granted.ttlMs && record.version >= granted.version) {
      yield `the TTL of ${task.alias} shrank from ${granted.ttlMs} to ${ttlMs} ms`;
    }
    if (ttlMs > granted.ttlMs) this.#granted.set(task.id, { ttlMs, version: record.version });

    const expiresAt = record.expiresAt ?? Number.POSITIVE_INFINITY;
    const earliest = view.earliestWallSince(call.invokedAt);
    if (!isTerminal(record.state)) {
      if (earliest >= expiresAt && !call.troubled) yield `${task.alias} is ${record.state.status} past its TTL`;
      return;
    }
    const { ended } = task;
    if (ended === undefined) return;
    if (ended.how === 'expired') {
      if (earliest >= ended.wall + 2 * EXPIRED_GRACE_MS) yield `${task.alias} is found long after it expired`;
      return;
    }
    if (expiresAt < ended.wall + task.keepResultMs) {
      yield `the result of ${task.alias} is kept for ${expiresAt - ended.wall} ms instead of ${task.keepResultMs}`;
    }
    if (earliest >= expiresAt) yield `${task.alias} is found after its end`;
  }

  *#left(view: View): Iterable<string> {
    const tasks = view.rows<{ id: string }>('select id from tasks');
    for (const { id } of tasks) {
      const task = view.model.find(id);
      if (task?.ttlMs !== null) yield `${view.model.alias(id)} is still in the file, long after its time`;
    }
    for (const { name: table } of view.rows<{ name: string }>(TABLES)) {
      const orphans = view.rows<{ task_id: string }>(
        `select distinct task_id from ${table} where task_id not in (select id from tasks)`,
      );
      for (const { task_id } of orphans) yield `${view.model.alias(task_id)} is gone and left rows in ${table}`;
    }
  }
}
