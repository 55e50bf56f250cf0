import { LimitExceededError, type Principal, principalKey, type RpcErrorObject, type TaskId } from '../core/index.ts';
import type { Tasks } from '../engine/index.ts';
import {
  decodeTaskIds,
  encodeResourceUpdated,
  invalidParams,
  LISTEN_METHOD,
  type Listen,
  missingTasksCapability,
  readListen,
} from '../wire/rev2026-07-28/index.ts';
import { tellOfLog } from './log-news.ts';
import type { CallerAuth } from './principal.ts';
import { taskUri } from './resources.ts';
import { answerTo, asThrown } from './rpc-error.ts';
import type { Serving } from './serving.ts';
import { type Outlet, TaskFeed, type Wanted } from './subscriptions.ts';
import { subscribable } from './task-uris.ts';

/** Tasks that one listen may name. */
const MAX_TASKS = 1_000;
/** Subscriptions that one principal may have at a time, and tasks on all of them together. */
const MAX_LISTENS = 1_000;
const MAX_LISTENED_TASKS = 50_000;

const TASK_URIS = taskUri('');

/** A listen that was accepted. It has to be closed. */
export interface OpenListen {
  /** What to acknowledge; `taskIds` only if some were asked for. */
  granted: { taskIds: TaskId[] | undefined; uris: string[] };
  /** To be called once it was acknowledged. */
  start(): void;
  close(): void;
}

/** Decides on subscriptions to tasks, on whichever transport they are asked for. */
export class ListenDesk {
  readonly #tasks: Tasks;
  readonly #serving: Serving;
  readonly #held = new Map<string, { listens: number; tasks: number }>();

  constructor(tasks: Tasks, serving: Serving) {
    this.#tasks = tasks;
    this.#serving = serving;
  }

  /** Principals that have subscriptions. */
  get size(): number {
    return this.#held.size;
  }

  /** A listen request, if it asks for anything of ours. */
  read(message: unknown): Listen | undefined {
    const listen = readListen(message, (uri) => this.#serving.resources && uri.startsWith(TASK_URIS));
    return listen === undefined || (listen.taskIds === undefined && listen.uris.length === 0) ? undefined : listen;
  }

  /** What is wrong with a request even before its shape is looked at. */
  missing({ taskIds, declared }: Listen): RpcErrorObject | undefined {
    return taskIds === undefined || declared ? undefined : missingTasksCapability(`${LISTEN_METHOD} with taskIds`);
  }

  /**
   * Accepts those of the tasks that are the caller's.
   * @param onOver called when there is nothing more to tell of any task
   * @throws whatever is to be answered: see {@link refusal}
   */
  async open(listen: Listen, auth: CallerAuth | undefined, outlet: Outlet, onOver: () => void): Promise<OpenListen> {
    const decoded = decodeTaskIds(listen.taskIds, MAX_TASKS);
    if (!decoded.ok) throw asThrown(invalidParams(decoded.message));
    const principal = this.#serving.principalOf({ auth });
    const wanted = new Map<TaskId, Wanted>(decoded.value.map((taskId) => [taskId, { push: true }]));
    const logs = new Map<string, TaskId>();
    for (const uri of listen.uris) {
      const { taskId, of } = subscribable(uri) ?? {};
      if (taskId === undefined) continue;
      if (of === 'log') logs.set(uri, taskId);
      else wanted.set(taskId, { push: wanted.has(taskId), uri });
    }
    const release = this.#hold(principal, wanted.size + logs.size);
    const closed = new AbortController();
    let left = 1;
    const over = (): void => {
      left -= 1;
      if (left === 0 && !closed.signal.aborted) onOver();
    };
    const feed = new TaskFeed(this.#tasks, principal, listen.id, outlet, over);
    const close = (): void => {
      closed.abort();
      feed.close();
      release();
    };
    try {
      const accepted = await feed.accept(wanted);
      for (const [uri, taskId] of logs) if (!(await this.#tasks.engine.owns(taskId, principal))) logs.delete(uri);
      const taskIds = decoded.value.filter((taskId) => accepted.has(taskId));
      const uris = listen.uris.filter((uri) => logs.has(uri) || accepted.has(subscribable(uri)?.taskId ?? ''));
      const granted = { taskIds: listen.taskIds === undefined ? undefined : taskIds, uris };
      const start = (): void => {
        left += logs.size;
        feed.start();
        for (const [uri, taskId] of logs) {
          const tell = (): void | Promise<void> => outlet.send(encodeResourceUpdated(uri, listen.id));
          const room = (): Promise<void> => outlet.room();
          const { logNewsMs: everyMs } = this.#serving;
          void tellOfLog(this.#tasks, { taskId, principal, room, tell, everyMs, signal: closed.signal }).then(over);
        }
      };
      return { granted, start, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** What a caller is told of what `open` threw. */
  refusal(error: unknown): RpcErrorObject {
    return answerTo(error, LISTEN_METHOD, this.#tasks);
  }

  /** Returns the function that gives the place back. */
  #hold(principal: Principal, tasks: number): () => void {
    if (tasks > MAX_TASKS) {
      throw new LimitExceededError(`a subscription takes at most ${MAX_TASKS} tasks, got ${tasks}`);
    }
    const owner = principalKey(principal);
    const held = this.#held.get(owner) ?? { listens: 0, tasks: 0 };
    if (held.listens >= MAX_LISTENS) {
      throw new LimitExceededError(`${MAX_LISTENS} subscriptions are open, and no more are taken; close some first`);
    }
    if (held.tasks + tasks > MAX_LISTENED_TASKS) {
      const rest = MAX_LISTENED_TASKS - held.tasks;
      throw new LimitExceededError(`your subscriptions have room for ${rest} more tasks, got ${tasks}`);
    }
    held.listens += 1;
    held.tasks += tasks;
    this.#held.set(owner, held);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      held.listens -= 1;
      held.tasks -= tasks;
      if (held.listens === 0) this.#held.delete(owner);
    };
  }
}
