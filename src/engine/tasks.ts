import { pino } from 'pino';
import {
  type Clock,
  DEFAULTS,
  type JobAdapter,
  type JsonValue,
  type Logger,
  type RandomSource,
  type StandardSchema,
  systemClock,
  systemRandom,
  withoutMessages,
} from '../core/index.ts';
import type { StoreBackend } from '../store/index.ts';
import { Engine } from './engine.ts';
import type { Inspector } from './inspector.ts';
import { defineJobTool, type JobToolConfig } from './jobs/define-job.ts';
import { definePrompt, type PromptConfig, type PromptHandler, type RegisteredTaskPrompt } from './prompts.ts';
import { defineResource, type ReadHandler, type RegisteredTaskResource, type ResourceConfig } from './resources.ts';
import { stopOnSignals } from './signals.ts';
import type { TaskDefaults } from './task-options.ts';
import { type ArgsOf, defineTool, type RegisteredTaskTool, type ToolConfig, type ToolHandler } from './tools.ts';

export interface TasksOptions {
  /** Where tasks are kept, e.g. `sqliteStore('tasks.db')`. */
  store: StoreBackend;
  /** How many tasks this process runs at once; 0: it only answers. @default 64 */
  slots?: number;
  /** Further slots for calls somebody waits for, so that long tasks never keep quick calls waiting. @default 16 */
  attendedSlots?: number;
  /** How many tasks of one principal run at once in this process; the others wait. @default no limit of its own */
  maxRunningPerPrincipal?: number;
  /** How long a worker may be silent before it counts as lost, in milliseconds. @default 30 s */
  leaseMs?: number;
  /** How often a worker shows that it is alive, in milliseconds; well below `leaseMs`. @default a third of it */
  heartbeatMs?: number;
  /** How long an unanswered question keeps its handler in memory, in milliseconds. @default 20 s */
  holdInputMs?: number;
  /**
   * How long a handler that was told to stop may take, in milliseconds, before its slot is freed without it.
   * @default 5 s
   */
  stopGraceMs?: number;
  /**
   * How long a task with an idempotency key waits for its request to come again, in milliseconds, when the request broke
   * off before its caller learned of the task. @default 60 s
   */
  orphanGraceMs?: number;
  /** How long `close` lets running tasks finish, in milliseconds, before it hands them back. @default 10 s */
  drainMs?: number;
  /** Life of a task whose tool says nothing else, in milliseconds; null: for ever. @default 7 days */
  ttlMs?: number | null;
  /** No task is granted more, in milliseconds. @default 30 days */
  maxTtlMs?: number;
  /** How often to look for lost workers and expired tasks, in milliseconds. @default 1 s */
  sweepMs?: number;
  /** @default 1000 */
  maxOpenTasksPerPrincipal?: number;
  /**
   * Polls of one task per second that are answered at once; faster ones wait for their turn or for the task to change.
   * @default 10
   */
  maxPollsPerSecond?: number;
  /** Polls of one principal that may wait so at the same time; one more is refused, over HTTP with 429. @default 1000 */
  maxWaitingPolls?: number;
  /** Steps, sleeps included, that one task may record. @default 10000 */
  maxStepsPerTask?: number;
  /** Bytes of a call's arguments as JSON. @default 4 MiB */
  maxArgumentBytes?: number;
  /** Bytes of a result, and of what a step returns, as JSON. @default 16 MiB */
  maxResultBytes?: number;
  /** Bytes of a task's log: of one that grows larger, the first and the last half are kept. @default 50 MiB */
  maxLogBytesPerTask?: number;
  /**
   * End every run of a handler after whatever it records and start it again, so that tests see what it does outside its
   * steps. `runTool` of `longcall/testing` sets it. @default false
   */
  interruptRuns?: boolean;
  /** Where to tell operators; never payloads. @default pino on stderr, level `warn` */
  logger?: Logger;
  /**
   * Log what errors say. Messages of what handlers throw, and of what schemas, parsers and clients say, may quote payloads and
   * secrets; without it their kind, code and place are logged. For development. @default false
   */
  logErrorMessages?: boolean;
  clock?: Clock;
  random?: RandomSource;
}

/** Tools whose calls become durable tasks, and the engine that runs them. */
export class Tasks implements AsyncDisposable {
  readonly engine: Engine;
  readonly logger: Logger;
  /** Life of a task whose tool says nothing else, in milliseconds; null: for ever. */
  readonly defaultTtlMs: number | null;
  readonly #tools = new Map<string, RegisteredTaskTool>();
  readonly #prompts = new Map<string, RegisteredTaskPrompt>();
  readonly #resources = new Map<string, RegisteredTaskResource>();

  constructor(engine: Engine, logger: Logger, defaultTtlMs: number | null) {
    this.engine = engine;
    this.logger = logger;
    this.defaultTtlMs = defaultTtlMs;
  }

  /**
   * Registers a tool: what `McpServer.registerTool` takes, plus `task`. The handler's second argument is the task.
   * @throws {TypeError} {RangeError} when something in the config cannot work, naming it.
   */
  registerTool<
    Input extends StandardSchema | undefined = undefined,
    Output extends StandardSchema | undefined = undefined,
  >(name: string, config: ToolConfig<Input, Output>, handler: ToolHandler<ArgsOf<Input>>): this {
    const tool = defineTool(
      name,
      config as unknown as ToolConfig<StandardSchema | undefined, StandardSchema | undefined>,
      handler as ToolHandler<never>,
      this.#defaults,
    );
    this.engine.register(tool.definition);
    this.#tools.set(name, tool);
    return this;
  }

  /**
   * Registers a tool whose work is done elsewhere: a call of another server, a process, an operation of a service. Its result goes
   * out as the adapter gives it, unchecked; a lost worker only means that another one goes on watching.
   * @param toArgs what the adapter is started with, from the call's arguments. @default these as they are
   * @throws {TypeError} {RangeError} when something in the config cannot work, naming it.
   */
  registerJob<Args, Ref extends JsonValue, Input extends StandardSchema | undefined = undefined>(
    name: string,
    config: JobToolConfig<Input>,
    adapter: JobAdapter<Args, Ref>,
    toArgs: (args: ArgsOf<Input>) => Args = (args) => args as Args,
  ): this {
    const untyped = config as unknown as JobToolConfig<StandardSchema | undefined>;
    const tool = defineJobTool(name, untyped, adapter, toArgs as (args: never) => Args, this.#defaults);
    this.engine.register(tool.definition);
    this.#tools.set(name, tool);
    return this;
  }

  /**
   * Takes a tool out: it is listed and called no more, and another may be registered under its name. Tasks of it that there are go on
   * with what was registered, or with what takes its place. False: there is none of this name.
   */
  removeTool(name: string): boolean {
    this.engine.registry.retire('tools/call', name);
    return this.#tools.delete(name);
  }

  /**
   * Registers a prompt that takes its time: what `McpServer.registerPrompt` takes, plus `task`. The handler's second argument
   * is the task. Clients that can have only tools as tasks wait for it; who gives up and asks again finds it at work.
   * @throws {TypeError} {RangeError} when something in the config cannot work, naming it.
   */
  registerPrompt<Args extends StandardSchema | undefined = undefined>(
    name: string,
    config: PromptConfig<Args>,
    handler: PromptHandler<ArgsOf<Args>>,
  ): this {
    const untyped = config as unknown as PromptConfig<StandardSchema | undefined>;
    const prompt = definePrompt(name, untyped, handler as PromptHandler<never>, this.#defaults);
    this.engine.register(prompt.definition);
    this.#prompts.set(name, prompt);
    return this;
  }

  /**
   * Registers a resource that takes its time to read, in the same way.
   * @param uri of the resource, or a template (RFC 6570) of the URIs of many, such as `report://{year}`
   * @throws {TypeError} {RangeError} when something in the config cannot work, naming it.
   */
  registerResource(name: string, uri: string, config: ResourceConfig, handler: ReadHandler): this {
    const resource = defineResource(name, uri, config, handler, this.#defaults);
    this.engine.register(resource.definition);
    this.#resources.set(name, resource);
    return this;
  }

  get #defaults(): TaskDefaults {
    return { ttlMs: this.defaultTtlMs, keepResultMs: DEFAULTS.keepResultMs, maxAttempts: DEFAULTS.maxAttempts };
  }

  get prompts(): readonly RegisteredTaskPrompt[] {
    return [...this.#prompts.values()];
  }

  get resources(): readonly RegisteredTaskResource[] {
    return [...this.#resources.values()];
  }

  /**
   * Takes a request by which the service of a tool's jobs says that there is news. It is never believed: where it is authentic, the
   * open tasks that it is about look at their jobs sooner than they would have. For servers that have a route for such requests.
   * @returns how many tasks; `undefined`: no such tool, a tool whose adapter takes none, or a request that is not authentic. Whoever
   * sent it should not be told which.
   */
  webhook(toolName: string, request: Request): Promise<number | undefined> {
    return this.engine.webhook(toolName, request);
  }

  /** A tool by the name it is registered under. */
  tool(name: string): RegisteredTaskTool | undefined {
    return this.#tools.get(name);
  }

  /** In the order they were registered. */
  get tools(): readonly RegisteredTaskTool[] {
    return [...this.#tools.values()];
  }

  /** Every task there is, whoever's it is: for operators, never for peers. */
  get inspect(): Inspector {
    return this.engine.inspector;
  }

  /** Opens the store and starts working, without serving anybody. Servers do this by themselves. */
  start(): Promise<void> {
    return this.engine.start();
  }

  /**
   * Works in this process without serving anybody, until `close` or the first SIGTERM or SIGINT. For worker processes
   * beside a server on the same store.
   * @returns resolves when the worker has stopped
   * @throws {StoreRefusedError} when the store must not be opened.
   */
  async work(options: { signals?: boolean } = {}): Promise<void> {
    // Timers never keep a process alive here, so waiting for work has to.
    const keepAlive = setInterval(() => {}, 60_000);
    let stopped = (): void => {};
    const done = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const removeHandlers = options.signals === false ? () => {} : stopOnSignals(() => this.close());
    try {
      await this.start();
      this.engine.onClose(stopped);
      await done;
    } finally {
      removeHandlers();
      clearInterval(keepAlive);
    }
  }

  /**
   * Stops taking work, lets what runs finish, hands back the rest without spending an attempt, closes the store.
   * @param options.drainMs how long to let running tasks finish, in milliseconds. @default the option of `createTasks`
   */
  close(options: { drainMs?: number } = {}): Promise<void> {
    return this.engine.close(options.drainMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** stdout belongs to the protocol under stdio hosts, so everything goes to stderr. */
function stderrLogger(): Logger {
  return pino(
    { name: 'longcall', level: 'warn', serializers: { error: pino.stdSerializers.err } },
    pino.destination(2),
  );
}

/**
 * The place where tools are registered and tasks live.
 * @throws {TypeError} {RangeError} when an option is out of bounds; the message shows option, bound and value.
 */
export function createTasks(options: TasksOptions): Tasks {
  if (typeof options?.store?.open !== 'function') {
    throw new TypeError("createTasks: store must be a task store, e.g. sqliteStore('tasks.db')");
  }
  const number = (field: keyof TasksOptions, fallback: number, minimum: number): number => {
    const value = options[field] ?? fallback;
    if (!Number.isSafeInteger(value) || (value as number) < minimum) {
      throw new RangeError(`createTasks: ${field} must be a whole number of at least ${minimum}, got ${String(value)}`);
    }
    return value as number;
  };
  const leaseMs = number('leaseMs', DEFAULTS.leaseMs, 100);
  const heartbeatMs = number('heartbeatMs', Math.floor(leaseMs / 3), 10);
  if (heartbeatMs * 2 > leaseMs) {
    throw new RangeError(`createTasks: heartbeatMs must be at most half of leaseMs (${leaseMs}), got ${heartbeatMs}`);
  }
  const maxTtlMs = number('maxTtlMs', DEFAULTS.maxTtlMs, 1);
  const ttlMs = options.ttlMs === null ? null : number('ttlMs', Math.min(DEFAULTS.ttlMs, maxTtlMs), 1);
  const given = options.logger ?? stderrLogger();
  const logger = options.logErrorMessages === true ? given : withoutMessages(given);
  const engine = new Engine({
    backend: options.store,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    logger,
    settings: {
      slots: number('slots', DEFAULTS.slots, 0),
      attendedSlots: number('attendedSlots', DEFAULTS.attendedSlots, 0),
      maxRunningPerPrincipal:
        options.maxRunningPerPrincipal === undefined ? undefined : number('maxRunningPerPrincipal', 0, 1),
      leaseMs,
      heartbeatMs,
      holdInputMs: number('holdInputMs', DEFAULTS.holdInputMs, 0),
      drainMs: number('drainMs', 10_000, 0),
      sweepMs: number('sweepMs', DEFAULTS.sweepMs, 10),
      maxOpenTasksPerPrincipal: number('maxOpenTasksPerPrincipal', DEFAULTS.maxOpenTasksPerPrincipal, 1),
      maxPollsPerSecond: number('maxPollsPerSecond', DEFAULTS.maxPollsPerSecond, 1),
      maxWaitingPolls: number('maxWaitingPolls', DEFAULTS.maxWaitingPolls, 0),
      maxTtlMs,
      maxResultBytes: number('maxResultBytes', DEFAULTS.maxResultBytes, 1_024),
      maxLogBytes: number('maxLogBytesPerTask', DEFAULTS.maxLogBytesPerTask, 4_096),
      maxStepsPerTask: number('maxStepsPerTask', DEFAULTS.maxStepsPerTask, 1),
      maxArgumentBytes: number('maxArgumentBytes', DEFAULTS.maxArgumentBytes, 1_024),
      interruptRuns: options.interruptRuns ?? false,
      stopGraceMs: number('stopGraceMs', DEFAULTS.stopGraceMs, 0),
      orphanGraceMs: number('orphanGraceMs', DEFAULTS.orphanGraceMs, 0),
    },
  });
  return new Tasks(engine, logger, ttlMs);
}
