import type { CreateTaskOptions, TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import type { Request, RequestId, Result, Task } from '@modelcontextprotocol/sdk/types.js';
import {
  DEFAULTS,
  encodeJson,
  isAnonymous,
  isJsonObject,
  isTerminal,
  type JsonObject,
  type JsonValue,
  type Principal,
  StoreClosedError,
  shortId,
  TaskNotFoundError,
  type TaskRecord,
} from '../../core/index.ts';
import type { Tasks } from '../../engine/index.ts';
import * as v25 from '../../wire/rev2025-11-25/index.ts';
import { keepSaidStatus, saidStatus, withoutSaidStatus } from '../../wire/said-status.ts';
import { listPage } from '../list-page.ts';
import { answerTo, asThrown } from '../rpc-error.ts';
import { type Origin, originOf } from './origins.ts';

export interface DurableTaskStoreOptions {
  /** Life of a task whose request asks for none, in milliseconds from creation; null: as long as there is. @default that of `tasks` */
  ttlMs?: number | null;
  /** How long a result is kept at least, in milliseconds. @default 24 hours */
  keepResultMs?: number;
  /** How often to poll a task whose `createTask` does not say, in milliseconds; the SDK itself waits so. @default 1 s */
  pollIntervalMs?: number;
}

/** What `durableTaskStore` gives: the SDK's own interface, and a way to hear that work is wanted no more. */
export interface DurableTaskStore extends TaskStore {
  /**
   * Aborted when the task is cancelled or expires, and when this process stops or loses it; not by the end that the work
   * itself brings about. Aborted from the start for work that is not done in this process.
   */
  signalOf(taskId: string): AbortSignal;
}

type Status = Task['status'];

/** Every poller gets it; more than a line of it belongs elsewhere. */
const MAX_MESSAGE_LENGTH = 1_000;
const INTERNAL_ERROR = -32603;

/**
 * The tasks of `registerToolTask` in the store of `tasks`: on disk before anybody is told, owned by the principal of the
 * request that created them, and ended honestly when their process dies. For servers made with the SDK's version 1:
 * `new McpServer(info, { capabilities, taskStore: durableTaskStore(tasks), taskMessageQueue: taskMessageQueue() })`. The
 * server has to say whose requests it serves, see {@link ownTasks}.
 * @throws {TypeError} {RangeError} when an argument cannot work, naming it.
 */
export function durableTaskStore(tasks: Tasks, options: DurableTaskStoreOptions = {}): DurableTaskStore {
  if (tasks?.engine === undefined) throw new TypeError('durableTaskStore: tasks must be what createTasks(…) gives');
  const { ttlMs, keepResultMs, pollIntervalMs } = options;
  for (const [field, value] of Object.entries({ ttlMs: ttlMs ?? undefined, keepResultMs, pollIntervalMs })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new RangeError(`durableTaskStore: ${field} must be a whole number of at least 1, got ${String(value)}`);
  }
  return new HeldTaskStore(tasks, options);
}

class HeldTaskStore implements DurableTaskStore {
  readonly #tasks: Tasks;
  readonly #options: DurableTaskStoreOptions;

  constructor(tasks: Tasks, options: DurableTaskStoreOptions) {
    this.#tasks = tasks;
    this.#options = options;
  }

  signalOf(taskId: string): AbortSignal {
    return this.#tasks.engine.held.signalOf(taskId);
  }

  createTask(wished: CreateTaskOptions, requestId: RequestId, request: Request): Promise<Task> {
    return this.#serve('createTask', async () => {
      const principal = requestor('createTask').principal();
      const wish = v25.decodeTask(wished);
      if (!wish.ok) throw asThrown(v25.invalidParams(wish.message));
      const { keepResultMs, pollIntervalMs = 1_000 } = this.#options;
      const { context } = wished;
      const task = await this.#tasks.engine.held.hold({
        ...calledBy(request),
        principal,
        ...(context !== undefined && { context: JSON.parse(encodeJson(context, 'context')) as JsonValue }),
        revision: v25.REVISION,
        originRequestId: String(requestId),
        ttlMs: wish.value.ttlMs === undefined ? this.#defaultTtlMs(principal) : wish.value.ttlMs,
        ...(keepResultMs !== undefined && { keepResultMs }),
        pollIntervalMs: wish.value.pollIntervalMs ?? pollIntervalMs,
      });
      return this.#encode(task);
    });
  }

  getTask(taskId: string): Promise<Task | null> {
    return this.#serve('getTask', async () => {
      const origin = originOf();
      try {
        const principal = await this.#principalFor(taskId);
        // A peer that polls has its turn; the SDK's own looks, and the author's, are not polls.
        const polled = origin?.live === true && origin.method === v25.METHODS.get;
        const { engine } = this.#tasks;
        return this.#encode(await (polled ? engine.poll(taskId, principal) : engine.get(taskId, principal)));
      } catch (error) {
        if (error instanceof TaskNotFoundError) return null;
        throw error;
      }
    });
  }

  getTaskResult(taskId: string): Promise<Result> {
    return this.#serve('getTaskResult', async () => {
      const { state } = await this.#tasks.engine.get(taskId, requestor('getTaskResult').principal());
      if (!isTerminal(state)) throw refusal('the task is not over yet, so it has no result');
      if (state.status === 'completed') return withoutSaidStatus(state.result);
      const reply = v25.encodePayload(taskId, state);
      throw 'error' in reply ? asThrown(reply.error) : refusal('the task has no result');
    });
  }

  listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    return this.#serve('listTasks', async () => {
      const principal = requestor('listTasks').principal();
      if (!v25.mayList(principal)) throw refusal('tasks of callers that nobody knows are not listed');
      const page = await listPage(cursor === undefined ? {} : { cursor }, principal, this.#tasks);
      return { ...page, tasks: page.tasks.map((task) => this.#encode(task)) };
    });
  }

  /**
   * Never rejects because the task is over, gone, or its store closed with this process: whoever did the work in the
   * background would have an unhandled rejection, which ends a process. What comes so late is dropped, and logged.
   */
  storeTaskResult(taskId: string, status: 'completed' | 'failed', result: Result): Promise<void> {
    return this.#serve('storeTaskResult', async () => {
      if (status !== 'completed' && status !== 'failed') {
        throw refusal(`storeTaskResult: status must be 'completed' or 'failed', got ${JSON.stringify(status)}`);
      }
      await this.#tell(taskId, 'a result', (held) => held.complete(taskId, keepSaidStatus(result, status)));
    });
  }

  /** As {@link storeTaskResult}; but cancelling what is over is refused, since somebody waits to hear of it. */
  updateTaskStatus(taskId: string, status: Status, statusMessage?: string): Promise<void> {
    return this.#serve('updateTaskStatus', async () => {
      const said = statusMessage === undefined || statusMessage === '' ? undefined : statusMessage;
      const message = said?.slice(0, MAX_MESSAGE_LENGTH);
      switch (status) {
        case 'working':
        case 'input_required': {
          const waiting = status === 'input_required';
          const news = { waiting, ...(message !== undefined && { statusMessage: message }) };
          return this.#tell(taskId, 'a status', (held) => held.report(taskId, news));
        }
        case 'completed': {
          const content = message === undefined ? [] : [{ type: 'text', text: message }];
          return this.#tell(taskId, 'a status', (held) => held.complete(taskId, { content }));
        }
        case 'failed':
          return this.#tell(taskId, 'a status', (held) => held.fail(taskId, message ?? 'the task failed'));
        case 'cancelled':
          return this.#cancel(taskId, message);
        default:
          throw refusal(`updateTaskStatus: ${JSON.stringify(status)} is no status of a task`);
      }
    });
  }

  async #cancel(taskId: string, reason: string | undefined): Promise<void> {
    const { engine } = this.#tasks;
    const principal = await this.#principalFor(taskId);
    if ((await engine.cancel(taskId, principal, reason)) === 'cancelled') return;
    throw asThrown(v25.notCancellable(this.#encode(await engine.get(taskId, principal)).status));
  }

  /** Tells the engine how work goes. Any process may that knows the task: no peer ever comes this way. */
  async #tell(taskId: string, what: string, tell: (held: Tasks['engine']['held']) => Promise<string>): Promise<void> {
    const { engine, logger } = this.#tasks;
    const fields = { task: shortId(taskId) };
    let told: string;
    try {
      told = await tell(engine.held);
    } catch (error) {
      if (!(error instanceof StoreClosedError)) throw error;
      logger.warn(fields, `${what} came after the store was closed and was dropped; the task ended with it`);
      return;
    }
    if (told === 'over') logger.info(fields, `${what} came after the end of its task and was dropped`);
    if (told === 'unknown')
      logger.warn(fields, `${what} came for a task that is not there, or no more, and was dropped`);
    if (told === 'not_held') throw refusal('the task is one of a tool of tasks.registerTool, whose handler ends it');
  }

  /**
   * That of the request that waits for its answer; else the owner of the task. Work in the background belongs to nobody's
   * request; what it knows the id of is its own server's.
   */
  async #principalFor(taskId: string): Promise<Principal> {
    const origin = originOf();
    return origin?.live === true ? origin.principal() : (await this.#tasks.inspect.get(taskId)).principal;
  }

  #defaultTtlMs(principal: Principal): number | null {
    const { ttlMs = this.#tasks.defaultTtlMs } = this.#options;
    if (!isAnonymous(principal)) return ttlMs;
    return Math.min(DEFAULTS.anonymousTtlMs, ttlMs ?? Number.POSITIVE_INFINITY);
  }

  #encode(task: TaskRecord): Task {
    const said = task.state.status === 'completed' ? saidStatus(task.state.result) : undefined;
    const wording = said === undefined ? {} : { isErrorStatus: said };
    return v25.encodeTask(task, this.#tasks.engine.clock.now(), wording) as unknown as Task;
  }

  /** The SDK turns what has an integer `code` into that JSON-RPC error; all else it would hand to the peer as it is. */
  async #serve<Value>(where: string, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      throw asThrown(answerTo(error, where, this.#tasks));
    }
  }
}

/** @throws {Error} when the code runs for no request: whoever called it cannot be told from anybody else. */
function requestor(method: string): Origin {
  const origin = originOf();
  if (origin !== undefined) return origin;
  throw refusal(`${method}: nobody knows whose request this is; call ownTasks(server) before server.connect(…)`);
}

/** What was called, and with what; for a tool, its name and arguments. */
function calledBy({ method, params }: Request): { method: string; name: string; input: JsonValue } {
  const given = JSON.parse(encodeJson(params ?? {}, 'params')) as JsonObject;
  const name = typeof given.name === 'string' ? given.name : method;
  const input = isJsonObject(given.arguments) || method === 'tools/call' ? (given.arguments ?? {}) : given;
  return { method, name, input };
}

function refusal(message: string): Error {
  return asThrown({ code: INTERNAL_ERROR, message });
}
