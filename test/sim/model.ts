import type { Answer, Principal, TaskId, TerminalState } from '../../src/core/index.ts';
import type { Lease } from '../../src/store/index.ts';
import type { Fact } from './facts.ts';
import { LEASE_MS } from './mood.ts';
import type { Program } from './programs.ts';

/** What is known of a task from what the store answered, whoever heard the answer. */
export interface TaskModel {
  id: TaskId;
  /** A short name for traces. */
  alias: string;
  principal: Principal;
  program: Program;
  ttlMs: number | null;
  keepResultMs: number;
  maxAttempts: number;
  created: Moment;
  /** Set once a client was told of the task. */
  acknowledgedAt?: number;
  /** The lease that holds, as far as anybody was told. */
  lease: ModelLease | undefined;
  maxFence: number;
  /** Workers that were declared lost, and retries that were asked for: what spends attempts. */
  spent: number;
  starts: number;
  steps: Map<string, { value: string; fence: number }>;
  /** Keys of all questions that were ever asked. */
  asked: Set<string>;
  answers: Map<string, Answer>;
  /** Steps, sleeps and questions: what a handler can go on from. */
  records: number;
  ended: (Moment & { how: 'finished' | 'cancelled' | 'expired' | 'interrupted'; fence?: number }) | undefined;
}

/** The number of a fact, and both clocks then. */
export interface Moment {
  at: number;
  wall: number;
  elapsed: number;
}

export interface ModelLease {
  process: string;
  fence: number;
  until: number;
  /** When it was last extended, in milliseconds since the run began. */
  extendedAt: number;
  /** It was not extended for so long that its worker must have stopped by itself, whatever came later. */
  late: boolean;
  /** Whether wall time has been past `until` since the lease was last extended. */
  ranOut: boolean;
}

/** Follows the tasks of a run through the store's own answers. */
export class Model {
  readonly tasks = new Map<TaskId, TaskModel>();

  find(taskId: TaskId | undefined): TaskModel | undefined {
    return taskId === undefined ? undefined : this.tasks.get(taskId);
  }

  /** A short name of a task for traces and sentences. */
  alias(taskId: TaskId): string {
    return this.tasks.get(taskId)?.alias ?? 'T?';
  }

  on(fact: Fact, now: Moment): void {
    if (fact.kind === 'time') {
      for (const { lease } of this.tasks.values())
        if (lease !== undefined && now.wall > lease.until) lease.ranOut = true;
    } else if (fact.kind === 'returned' && fact.call.op === 'create' && fact.call.outcome?.ok === true) {
      const task = this.find(fact.call.taskId);
      if (task !== undefined) task.acknowledgedAt ??= now.at;
    } else if (fact.kind === 'handler' && fact.what === 'started') {
      const task = this.find(fact.run.taskId);
      if (task !== undefined) task.starts += 1;
    } else if (fact.kind === 'store') this.#onStore(fact, now);
  }

  #onStore(fact: Fact & { kind: 'store' }, now: Moment): void {
    switch (fact.method) {
      case 'create':
        if (fact.result.outcome === 'created') this.#create(fact.args[0], now);
        if (fact.result.claimed !== undefined) this.#lease(fact.process, fact.result.claimed.lease, now);
        return;
      case 'claim':
        for (const { lease } of fact.result) this.#lease(fact.process, lease, now);
        return;
      case 'renew': {
        const [leases, leaseMs] = fact.args;
        for (const lease of leases)
          if (!fact.result.includes(lease.taskId)) this.#renewed(lease, now.wall + leaseMs, now);
        return;
      }
      case 'release':
        if (fact.result !== 'applied') return;
        this.#with(fact.args[0].taskId, (task) => {
          task.lease = undefined;
          if (fact.args[1].to === 'retry') task.spent += 1;
        });
        return;
      case 'finish':
        if (fact.result === 'applied') this.#end(fact.args[0].taskId, now, 'finished', fact.args[0].fence);
        return;
      case 'cancel':
      case 'cancelOrphan':
        if (fact.result === 'cancelled') this.#end(fact.args[0], now, 'cancelled');
        return;
      case 'recover': {
        if (fact.result !== 'applied') return;
        const [{ taskId }, decision] = fact.args;
        this.#with(taskId, (task) => {
          task.lease = undefined;
          task.spent += 1;
        });
        if (decision.action === 'fail') this.#end(taskId, now, 'interrupted');
        return;
      }
      case 'sweep':
        for (const taskId of fact.result.expired) this.#end(taskId, now, 'expired');
        return;
      case 'recordStep': {
        const [{ taskId, fence }, { body }] = fact.args;
        if (fact.result !== 'applied') return;
        const value = body === null ? undefined : (JSON.parse(body) as unknown);
        this.#with(taskId, (task) => {
          task.records += 1;
          if (typeof value === 'string') task.steps.set(stepKey(value), { value, fence });
        });
        return;
      }
      case 'ask':
        if (fact.result !== 'applied') return;
        this.#with(fact.args[0].taskId, (task) => {
          task.records += 1;
          task.asked.add(fact.args[1]);
        });
        return;
      case 'answer': {
        const [taskId, , answers] = fact.args;
        for (const key of fact.result ?? []) {
          this.#with(taskId, (task) => task.answers.set(key, answers.get(key) as Answer));
        }
        return;
      }
      default:
        return;
    }
  }

  /**
   * What was committed without a flush may be gone after a power cut: claims, renewals, expiries. What leases are left is
   * read from the file.
   */
  resync(rows: readonly { id: string; run_state: string; fence: number; lease_until: number | null }[]): void {
    for (const { id, run_state, fence, lease_until } of rows) {
      const task = this.tasks.get(id);
      if (task === undefined) continue;
      task.maxFence = fence;
      task.lease =
        run_state === 'leased'
          ? { process: 'gone', fence, until: lease_until ?? 0, extendedAt: 0, late: true, ranOut: false }
          : undefined;
      if (run_state !== 'done') task.ended = undefined;
    }
  }

  #create(task: { taskId: TaskId; principal: Principal; input: unknown } & Limits, now: Moment): void {
    this.tasks.set(task.taskId, {
      id: task.taskId,
      alias: `T${this.tasks.size + 1}`,
      principal: task.principal,
      program: task.input as Program,
      ttlMs: task.ttlMs,
      keepResultMs: task.keepResultMs,
      maxAttempts: task.maxAttempts,
      created: now,
      lease: undefined,
      maxFence: 0,
      spent: 0,
      starts: 0,
      steps: new Map(),
      asked: new Set(),
      answers: new Map(),
      records: 0,
      ended: undefined,
    });
  }

  #lease(process: string, { taskId, fence, leaseUntil }: Lease, now: Moment): void {
    this.#with(taskId, (task) => {
      task.lease = { process, fence, until: leaseUntil, extendedAt: now.elapsed, late: false, ranOut: false };
      task.maxFence = Math.max(task.maxFence, fence);
    });
  }

  #renewed({ taskId, fence }: Lease, until: number, now: Moment): void {
    this.#with(taskId, ({ lease }) => {
      if (lease?.fence !== fence) return;
      const late = lease.late || isLate(lease, now.elapsed);
      Object.assign(lease, { until, extendedAt: now.elapsed, late, ranOut: false });
    });
  }

  #end(taskId: TaskId, now: Moment, how: NonNullable<TaskModel['ended']>['how'], fence?: number): void {
    this.#with(taskId, (task) => {
      task.lease = undefined;
      task.ended = { ...now, how, ...(fence !== undefined && { fence }) };
    });
  }

  #with(taskId: TaskId, change: (task: TaskModel) => unknown): void {
    const task = this.tasks.get(taskId);
    if (task !== undefined) change(task);
  }
}

/** Workers stop a handler a little before its lease ends, on the clock that never jumps. */
export function isLate(lease: ModelLease, elapsed: number): boolean {
  return elapsed - lease.extendedAt >= 0.9 * LEASE_MS;
}

interface Limits {
  ttlMs: number | null;
  keepResultMs: number;
  maxAttempts: number;
}

/** Step values name their step and the run that made them: `a#1@7`. */
function stepKey(value: string): string {
  return value.slice(0, value.indexOf('@'));
}

/** What a handler of the simulation returned, if it did. */
export function resultOf(state: TerminalState): { run: number; fence: number } | undefined {
  if (state.status !== 'completed') return undefined;
  return (state.result.structuredContent ?? undefined) as { run: number; fence: number } | undefined;
}

export function isOwner(task: TaskModel, principal: Principal): boolean {
  return task.principal.subject === principal.subject && task.principal.tenant === principal.tenant;
}
