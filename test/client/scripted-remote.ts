import type {
  Outcome,
  Remote,
  RemoteRevision,
  RemoteTask,
  RemoteTool,
  Started,
  StartRequest,
} from '../../src/client/remote.ts';
import { RemoteGoneError } from '../../src/client/remote-errors.ts';
import type { Answer, Question } from '../../src/core/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';

export interface Asked {
  method: 'start' | 'get' | 'outcome' | 'cancel' | 'answer';
  /** By the monotonic clock. */
  at: number;
  taskId?: string;
  request?: StartRequest;
}

/** What a server does with one request; may be anything the interface allows, or never come back. */
type Doing<Input, Output> = (input: Input, signal: AbortSignal | undefined) => Output | Promise<Output>;

/** A server that does what its test says, and notes what it was asked and when. By default it makes a task of every call. */
export class ScriptedRemote implements Remote {
  revision: RemoteRevision = '2026-07-28';
  repeatable = true;
  readonly origin = 'scripted server';
  readonly asked: Asked[] = [];
  /** Tasks by id, as `get` tells them. */
  readonly tasks = new Map<string, RemoteTask>();
  /** Which task an idempotency key made, and so how many times a tool ran. */
  readonly keys = new Map<string, string>();
  runs = 0;
  disposed = 0;
  onStart: Doing<StartRequest, Started> = (request) => ({ kind: 'task', task: this.newTask(request) });
  onGet: Doing<string, RemoteTask> = (taskId) => this.task(taskId);
  onOutcome: Doing<string, Outcome> = (taskId) => this.task(taskId).outcome as Outcome;
  /** Answers that were taken, in the order in which they came. */
  readonly answers: Record<string, Answer>[] = [];
  onAnswer: (answers: ReadonlyMap<string, Answer>) => void = () => {};
  onCancel: Doing<string, void> = () => {};
  watch?: NonNullable<Remote['watch']>;
  delete?: NonNullable<Remote['delete']>;
  log?: NonNullable<Remote['log']>;
  readonly #clock: ManualClock | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(clock?: ManualClock) {
    this.#clock = clock;
  }

  /** What it lists. */
  tools: RemoteTool[] = [];

  async listTools(): Promise<RemoteTool[]> {
    return this.tools;
  }

  start(request: StartRequest): Promise<Started> {
    this.#note({ method: 'start', request });
    return this.#do(() => this.onStart(request, request.signal));
  }

  get(taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<RemoteTask> {
    this.#note({ method: 'get', taskId });
    return this.#do(() => this.onGet(taskId, signal));
  }

  outcome(taskId: string, { signal }: { signal?: AbortSignal } = {}): Promise<Outcome> {
    this.#note({ method: 'outcome', taskId });
    return this.#do(() => this.onOutcome(taskId, signal));
  }

  answer(taskId: string, answers: ReadonlyMap<string, Answer>): Promise<void> {
    this.#note({ method: 'answer', taskId });
    return this.#do(() => {
      this.onAnswer(answers);
      this.answers.push(Object.fromEntries(answers));
    });
  }

  cancel(taskId: string): Promise<void> {
    this.#note({ method: 'cancel', taskId });
    return this.#do(() => this.onCancel(taskId, undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposed += 1;
  }

  /** The task of a call; a key that came before gets the task it made then. */
  newTask({ idempotencyKey }: StartRequest, details: Partial<RemoteTask> = {}): RemoteTask {
    const known = this.repeatable ? this.keys.get(idempotencyKey) : undefined;
    if (known !== undefined) return this.task(known);
    this.runs += 1;
    const task = aRemoteTask({ taskId: `task-${this.runs}`, ...details });
    this.keys.set(idempotencyKey, task.taskId);
    this.tasks.set(task.taskId, task);
    return task;
  }

  task(taskId: string): RemoteTask {
    const task = this.tasks.get(taskId);
    if (task === undefined) throw new RemoteGoneError(`no task ${taskId}`);
    return task;
  }

  change(taskId: string, details: Partial<RemoteTask>): RemoteTask {
    const changed = { ...this.task(taskId), ...details };
    this.tasks.set(taskId, changed);
    return changed;
  }

  finish(taskId: string, text = 'done'): RemoteTask {
    return this.change(taskId, { status: 'completed', outcome: completed(text) });
  }

  count(method: Asked['method']): number {
    return this.asked.filter((asked) => asked.method === method).length;
  }

  /** When the gets came, by the monotonic clock. */
  times(method: Asked['method'], taskId?: string): number[] {
    return this.asked
      .filter((asked) => asked.method === method && (taskId === undefined || asked.taskId === taskId))
      .map(({ at }) => at);
  }

  /** Resolves once `method` was asked `count` times. */
  async until(method: Asked['method'], count: number): Promise<void> {
    while (this.count(method) < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #note(asked: Omit<Asked, 'at'>): void {
    this.asked.push({ ...asked, at: this.#clock?.monotonic() ?? 0 });
    for (const wake of [...this.#waiting]) {
      this.#waiting.delete(wake);
      wake();
    }
  }

  async #do<Output>(action: () => Output | Promise<Output>): Promise<Output> {
    return action();
  }
}

export function aRemoteTask(details: Partial<RemoteTask> = {}): RemoteTask {
  return {
    taskId: 'task-1',
    status: 'working',
    pollIntervalMs: 1_000,
    questions: new Map<string, Question>(),
    ...details,
  };
}

export function completed(text: string): Outcome {
  return { status: 'completed', result: { content: [{ type: 'text', text }] } };
}

/** A promise that a signal ends and nothing else: a server that never answers. */
export function never(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
