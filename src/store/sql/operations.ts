import { type Clock, TASK_STATUSES, type TaskId, type TaskStatus } from '../../core/index.ts';
import type {
  ListOptions,
  OperatorStore,
  Rekeyed,
  RekeyOptions,
  RunState,
  TaskCounts,
  TaskFilter,
  TaskPage,
} from '../operator-store.ts';
import * as commands from './commands/index.ts';
import { decodeCursor, encodeCursor, newest } from './cursor.ts';
import { rekey } from './rekey.ts';
import type { Command } from './statement.ts';
import type { Statements } from './statements.ts';
import { turn } from './turn.ts';

/** How a backend runs commands; each call is a transaction. */
export interface CommandRunner {
  read<Result>(command: () => Command<Result>): Promise<Result>;
  write<Result>(
    command: () => Command<Result>,
    options: { flush: boolean; changed?: (result: Result) => readonly string[] },
  ): Promise<Result>;
}

const RUN_STATES = ['ready', 'leased', 'parked', 'done'] as const satisfies readonly RunState[];
/** Tasks cancelled by one command. */
const CANCEL_PIECE = 100;

/** What operators may do, in pieces small enough that others get their turn in between. */
export abstract class SqlOperations implements Omit<OperatorStore, 'storage'> {
  readonly #runner: CommandRunner;
  readonly #q: Statements;
  readonly #clock: Clock;

  constructor(runner: CommandRunner, q: Statements, clock: Clock) {
    this.#runner = runner;
    this.#q = q;
    this.#clock = clock;
  }

  async list({ limit, cursor, ...filter }: ListOptions): Promise<TaskPage> {
    let before = cursor === undefined ? newest(filter.until) : decodeCursor(cursor);
    const page: TaskPage = { tasks: [] };
    for (;;) {
      await turn(); // Before each piece: who lists page after page lets others go on, too.
      const wanted = limit - page.tasks.length;
      const { tasks, next } = await this.#runner.read(() => commands.listTasks(this.#q, filter, before, wanted));
      page.tasks.push(...tasks);
      if (next === undefined) return page;
      if (page.tasks.length >= limit) return { ...page, nextCursor: encodeCursor(next) };
      before = next;
    }
  }

  async counts(): Promise<TaskCounts> {
    const byStatus = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<TaskStatus, number>;
    const byRunState = Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as Record<RunState, number>;
    let total = 0;
    let after: number | undefined = 0;
    while (after !== undefined) {
      const from: number = after;
      const { found, next } = await this.#runner.read(() => commands.countTasks(this.#q, from));
      for (const { status, runState, tasks } of found) {
        byStatus[status] += tasks;
        byRunState[runState] += tasks;
        total += tasks;
      }
      after = next;
      await turn();
    }
    return { total, byStatus, byRunState };
  }

  inspect(taskId: TaskId) {
    return this.#runner.read(() => commands.inspectTask(this.#q, taskId));
  }

  attempts(taskId: TaskId) {
    return this.#runner.read(() => commands.pastAttempts(this.#q, taskId));
  }

  timeline(taskId: TaskId, after: number, limit: number) {
    return this.#runner.read(() => commands.timeline(this.#q, taskId, after, limit));
  }

  payloads(taskId: TaskId) {
    return this.#runner.read(() => commands.payloads(this.#q, taskId));
  }

  findIds(prefix: string, limit: number) {
    return this.#runner.read(() => commands.findIds(this.#q, prefix, limit));
  }

  requeue(taskId: TaskId, as: TaskId) {
    return this.#runner.write(() => commands.requeue(this.#q, taskId, as, this.#clock.now()), {
      flush: true,
      changed: (outcome) => (outcome === 'requeued' ? [as] : []),
    });
  }

  async cancelAll(which: readonly TaskId[] | TaskFilter, reason: string, by: string): Promise<TaskId[]> {
    if (isList(which)) return this.#cancel(which, reason, by);
    const open = (['working', 'input_required'] as const).filter((status) => allows(which, status));
    const cancelled: TaskId[] = [];
    let cursor: string | undefined;
    // Newest first, so that what is created meanwhile stays out of it.
    while (open.length > 0) {
      const at = cursor === undefined ? {} : { cursor };
      const page = await this.list({ ...which, status: open, limit: CANCEL_PIECE, ...at });
      const taskIds = page.tasks.map(({ taskId }) => taskId);
      cancelled.push(...(await this.#cancel(taskIds, reason, by)));
      if (page.nextCursor === undefined) break;
      cursor = page.nextCursor;
    }
    return cancelled;
  }

  rekey(_options: RekeyOptions = {}): Promise<Rekeyed> {
    return rekey(this.#runner, this.#q);
  }

  async remove(taskId: TaskId): Promise<boolean> {
    const found = await this.#runner.write(() => commands.hide(this.#q, taskId, this.#clock.now()), {
      flush: true,
      changed: (hidden) => (hidden ? [taskId] : []),
    });
    if (!found) return false;
    while (!(await this.#runner.write(() => commands.eraseTask(this.#q, taskId), { flush: true }))) await turn();
    return true;
  }

  async #cancel(taskIds: readonly TaskId[], reason: string, by: string): Promise<TaskId[]> {
    const cancelled: TaskId[] = [];
    for (let from = 0; from < taskIds.length; from += CANCEL_PIECE) {
      const piece = taskIds.slice(from, from + CANCEL_PIECE);
      const command = () => commands.cancelTasks(this.#q, piece, reason, by, this.#clock.now());
      cancelled.push(...(await this.#runner.write(command, { flush: true, changed: (ended) => ended })));
    }
    return cancelled;
  }
}

function isList(which: readonly TaskId[] | TaskFilter): which is readonly TaskId[] {
  return Array.isArray(which);
}

function allows({ status }: TaskFilter, wanted: TaskStatus): boolean {
  return status === undefined || status === wanted || (Array.isArray(status) && status.includes(wanted));
}
