import {
  type Answer,
  type Clock,
  type JsonObject,
  type JsonValue,
  type Logger,
  type Question,
  type RandomSource,
  type RequestorAbilities,
  type RpcErrorObject,
  TaskError,
  type TerminalState,
} from '../../core/index.ts';
import type { Definition } from '../../engine/definition.ts';
import { createTasks, type Tasks } from '../../engine/index.ts';
import { sqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { decodeQuestion, encodeReply } from '../../wire/asked.ts';
import type { Decoded } from '../../wire/decoded.ts';
import { relatedTaskOf } from '../../wire/rev2025-11-25/client.ts';
import { readTaskRequest, type TaskRequest } from '../../wire/rev2025-11-25/client-tasks.ts';
import {
  decodeCursor,
  decodeTask,
  decodeTaskId,
  encodeCursor,
  encodeError,
  encodeHandle,
  encodeList,
  encodePayload,
  encodeTask,
  internalError,
  invalidParams,
  notCancellable,
  REVISION,
  statusOf,
} from '../../wire/rev2025-11-25/index.ts';
import { Seal } from '../../wire/seal.ts';
import type { OnQuestion } from '../remote.ts';
import { fitting } from './misfit.ts';

export type Reply = { result: JsonObject } | { error: RpcErrorObject };

export interface AskedTasksParts {
  onQuestion: OnQuestion;
  abilities: RequestorAbilities;
  clock: Clock;
  random: RandomSource;
  logger: Logger;
}

/** A server's request, as it came. */
interface Request {
  method?: unknown;
  params?: unknown;
}

/** All tasks here are one server's; nobody else reaches them. */
const SERVER = { subject: 'the server' };
/** Questions that wait for people, of one server. */
const MAX_OPEN = 200;
const PAGE = 50;
const SECRET_BYTES = 32;
const DAY_MS = 86_400_000;

/**
 * Questions that a server asks as tasks of this side, on the engine that runs the tasks of servers. They are kept in memory: a
 * lost connection leaves them alone, and with this process the session ends that they belong to, so that no server could come
 * for them any more.
 * @see 2025-11-25 tasks, "Definitions": receivers may be clients
 */
export class AskedTasks {
  readonly #parts: AskedTasksParts;
  readonly #seal: Seal;
  readonly #definitions = new Map<unknown, Definition>();
  #tasks: Tasks | undefined;
  #closed = false;

  constructor(parts: AskedTasksParts) {
    this.#parts = parts;
    this.#seal = new Seal(parts.random.bytes(SECRET_BYTES));
  }

  /** What a request wants of tasks; `undefined`: it is for somebody else. */
  read(request: Request): TaskRequest | undefined {
    return this.#closed ? undefined : readTaskRequest(request, this.#parts.abilities);
  }

  /** @throws the reason of `signal` when it aborts: nobody waits for the answer then. */
  async reply(wanted: TaskRequest, request: Request, signal: AbortSignal): Promise<Reply> {
    try {
      return await this.#reply(wanted, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Refused) return { error: error.rpc };
      if (error instanceof TaskError) return { error: encodeError(error) };
      this.#parts.logger.error({ error }, 'a request about a question that is a task could not be served');
      return { error: internalError };
    }
  }

  /** Ends what is being asked. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tasks?.close({ drainMs: 0 });
  }

  async #reply(wanted: TaskRequest, { method, params }: Request, signal: AbortSignal): Promise<Reply> {
    const { engine } = this.#opened();
    const now = (): number => this.#parts.clock.now();
    switch (wanted.kind) {
      case 'create':
        return { result: await this.#create(wanted.task, method, params, signal) };
      case 'get':
        return { result: encodeTask(await engine.poll(read(decodeTaskId(params)), SERVER, signal), now()) };
      case 'result': {
        const ended = await engine.wait(read(decodeTaskId(params)), SERVER, { signal });
        return encodePayload(ended.taskId, ended.state as TerminalState, ended.method);
      }
      case 'list': {
        const cursor = read(decodeCursor(params, SERVER, this.#seal));
        const page = await engine.list(SERVER, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
        const { nextCursor } = page;
        const next = nextCursor === undefined ? undefined : encodeCursor(nextCursor, SERVER, this.#seal);
        return { result: encodeList(page.tasks, now(), next) };
      }
      case 'cancel': {
        const taskId = read(decodeTaskId(params));
        const outcome = await engine.cancel(taskId, SERVER, 'cancelled by the server');
        const task = await engine.get(taskId, SERVER);
        if (outcome === 'already_terminal') return { error: notCancellable(statusOf(task)) };
        return { result: encodeTask(task, now()) };
      }
    }
  }

  async #create(wish: unknown, method: unknown, params: unknown, signal: AbortSignal): Promise<JsonObject> {
    const { engine } = this.#opened();
    const { ttlMs } = read(decodeTask(wish));
    const decoded = decodeQuestion(method, params);
    if (decoded?.ok === false) throw new Refused(invalidParams(`params.${decoded.message}`));
    const definition = this.#definitions.get(method);
    if (decoded === undefined || definition === undefined) throw new TypeError(`${String(method)}: no question`);
    const related = relatedTaskOf(params)?.taskId;
    const { task } = await engine.create({
      definition,
      principal: SERVER,
      input: { question: decoded.value, ...(related !== undefined && { related }) } as unknown as JsonValue,
      revision: REVISION,
      abilities: { form: false },
      ...(ttlMs !== undefined && { ttlMs: ttlMs ?? Number.MAX_SAFE_INTEGER }),
    });
    if (signal.aborted) await engine.cancel(task.taskId, SERVER, 'taken back before its task was known');
    signal.throwIfAborted();
    return encodeHandle(task, this.#parts.clock.now());
  }

  #opened(): Tasks {
    if (this.#tasks !== undefined) return this.#tasks;
    const { clock, random, logger } = this.#parts;
    const tasks = createTasks({
      store: sqliteStore(':memory:'),
      slots: MAX_OPEN, // People take their time, and must not keep one another's questions waiting.
      maxOpenTasksPerPrincipal: MAX_OPEN,
      clock,
      random,
      logger,
    });
    for (const method of ['elicitation/create', 'sampling/createMessage']) {
      const definition = this.#definition(method);
      tasks.engine.registry.add(definition);
      this.#definitions.set(method, definition);
    }
    this.#tasks = tasks;
    return tasks;
  }

  #definition(method: string): Definition {
    return {
      method,
      name: 'question',
      ttlMs: DAY_MS,
      keepResultMs: DAY_MS,
      maxAttempts: 1,
      onWorkerLost: 'fail',
      strict: false,
      run: async (input, { signal }) => {
        const { question, related } = input as unknown as { question: Question; related?: string };
        const reply = encodeReply(question, await this.#answer(question, related, signal));
        if ('error' in reply) throw Object.assign(new Error(reply.error.message), { code: reply.error.code });
        return reply.result;
      },
    };
  }

  /** As with questions that are no tasks: what goes wrong on this side is for the host's operator, not for the server. */
  async #answer(question: Question, taskId: string | undefined, signal: AbortSignal): Promise<Answer> {
    const { onQuestion, logger } = this.#parts;
    try {
      return fitting(question, await onQuestion({ taskId, question, signal }));
    } catch (error) {
      signal.throwIfAborted();
      logger.error({ error }, 'a question could not be answered');
      return { action: 'cancel' };
    }
  }
}

class Refused extends Error {
  readonly rpc: RpcErrorObject;

  constructor(rpc: RpcErrorObject) {
    super(rpc.message);
    this.rpc = rpc;
  }
}

function read<Value>(decoded: Decoded<Value>): Value {
  if (decoded.ok) return decoded.value;
  throw new Refused(invalidParams(decoded.message));
}
