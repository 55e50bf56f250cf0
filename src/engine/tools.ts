import {
  DEFAULTS,
  describeIssues,
  isJsonObject,
  isStandardSchema,
  type JsonObject,
  type JsonValue,
  type OutputOf,
  type Principal,
  type RetryPolicy,
  type StandardSchema,
  toJsonSchema,
  workerLostRule,
} from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { Definition } from './definition.ts';
import { INTERNAL_ERROR } from './outcome.ts';

/** A tool's result, as MCP has it. */
export interface ToolResult {
  content?: ContentBlock[];
  /** Any JSON value; an object where the tool has an `outputSchema` of an object. */
  structuredContent?: unknown;
  /** The tool did its work and the answer is a failure the model should see. */
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** A block of content: text, image, audio, link or embedded resource. */
export interface ContentBlock {
  type: string;
  [key: string]: unknown;
}

/** A result of one text block. */
export function text(value: string): ToolResult & { content: ContentBlock[] } {
  return { content: [{ type: 'text', text: value }] };
}

/** The request a `prepare` hook looks at. */
export interface PrepareRequest {
  principal: Principal;
  /** Whether this call's client said it can show a form, i.e. whether asking for input can lead anywhere. */
  canAsk: boolean;
  /** Answers to what an earlier round of the same call asked for, by key; not validated. */
  answers: Readonly<Record<string, unknown>> | undefined;
  /**
   * What an earlier round handed out as its state: as the client sent it back, and not to be trusted, unless the server
   * verifies it (`requestState`); then what the verifier made of it.
   */
  state: unknown;
  signal: AbortSignal;
}

/** `respond` answers the call at once and creates no task; otherwise the task is created, with `prepared` in it. */
export type Prepared =
  | { respond: object; prepared?: undefined }
  | { respond?: undefined; prepared?: JsonValue }
  | undefined;

/** How a call is served that could be a task, from a client that knows no tasks. */
export interface FallbackOptions {
  /**
   * `detach`: a call that takes longer than `detachAfterMs` is answered with a note how to go on; `block`: it waits;
   * `refuse`: it is an error. @default 'detach'
   */
  mode?: 'detach' | 'block' | 'refuse';
  /** How long a call may take before it is answered without its result, in milliseconds. @default 20 s, or by client */
  detachAfterMs?: number;
  /** How long a blocking call waits, in milliseconds, before it is answered without its result after all. @default 10 min */
  maxBlockMs?: number;
}

export interface ToolTaskOptions<Args = unknown> {
  /**
   * Whether the tool runs as a task: whenever the caller can take one (`optional`), never (`forbidden`), or only so
   * (`required`: a caller without tasks is told what to enable). @default 'optional'
   */
  support?: 'forbidden' | 'optional' | 'required';
  /** Milliseconds from creation until the task is given up or forgotten; null: never. @default 7 days, at most 30 */
  ttlMs?: number | null;
  /** How long a result is kept at least, in milliseconds. @default 24 hours */
  keepResultMs?: number;
  /** Milliseconds of active time, over all attempts, after which the task fails. @default no limit */
  timeoutMs?: number;
  /** A fixed hint for pollers, in milliseconds. @default 1 s, rising with age to 30 s */
  pollIntervalMs?: number;
  /** How many tasks of this tool run at once in one process; the others wait. @default as many as there are slots */
  concurrency?: number;
  /** How often the handler may be started, lost workers included. @default 3 */
  maxAttempts?: number;
  /**
   * What happens when the process that runs the handler dies. @default 'rerun' for tools annotated read-only and
   * idempotent; others go on if a step or question was recorded and fail ("interrupted") if not
   */
  onWorkerLost?: 'rerun' | 'resume' | 'fail';
  /**
   * Try a handler that throws again: with waits that double from one second to five minutes, or as given, until
   * `maxAttempts` is used up or it throws a {@link NonRetryableError}. @default false: a thrown error ends the task
   */
  retry?: boolean | Partial<RetryPolicy>;
  /**
   * The idempotency key of a call that brings none: calls of one principal with the same key and arguments are one
   * task. Not asked for anonymous callers, who could otherwise find each other's tasks. @default none
   */
  dedupe?: (args: Args, principal: Principal) => string | undefined;
  /** How clients without tasks are served. @default what the server says */
  fallback?: FallbackOptions;
  /**
   * A client without tasks that calls the tool again, with the same arguments and while the first call still runs, joins
   * that instead of starting another. Callers nobody knows never join. @default true
   */
  joinRunning?: boolean;
  /** Recorded with each task, to notice that a handler changed under running tasks. */
  version?: string;
  /** Fail a task whose handler changed under it (version or order of steps), instead of warning. @default false */
  strict?: boolean;
  /**
   * Looks at a call before a task is created, while the caller still waits: to refuse it, to answer it at once, or to
   * ask for input first (return what the SDK's `inputRequired(…)` gives as `respond`).
   * @see 2026-07-28 "Task Creation": finish multi-round-trip input before creating the task
   */
  prepare?: (args: Args, request: PrepareRequest) => Prepared | Promise<Prepared>;
}

/** What `McpServer.registerTool` takes, plus `task`. */
export interface ToolConfig<Input extends StandardSchema | undefined, Output extends StandardSchema | undefined> {
  title?: string;
  description?: string;
  inputSchema?: Input;
  outputSchema?: Output;
  annotations?: ToolAnnotations;
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: 'light' | 'dark' }[];
  _meta?: Record<string, unknown>;
  task?: ToolTaskOptions<ArgsOf<Input>>;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export type ArgsOf<Input> = Input extends StandardSchema ? OutputOf<Input> : Record<string, never>;

export type ToolHandler<Args> = (args: Args, task: TaskContext) => ToolResult | Promise<ToolResult>;

/** A registered tool, the author's types forgotten. */
export interface RegisteredTaskTool {
  name: string;
  support: 'forbidden' | 'optional' | 'required';
  config: Omit<ToolConfig<StandardSchema, StandardSchema>, 'task'>;
  prepare: ((args: unknown, request: PrepareRequest) => Prepared | Promise<Prepared>) | undefined;
  dedupe: ((args: unknown, principal: Principal) => string | undefined) | undefined;
  fallback: FallbackOptions;
  joinRunning: boolean;
  definition: Definition;
}

export interface ToolDefaults {
  ttlMs: number | null;
  keepResultMs: number;
  maxAttempts: number;
}

const INVALID_PARAMS = -32602;

/**
 * Checks a tool and makes it something the engine can run.
 * @throws {TypeError} naming the option and what was expected.
 */
export function defineTool(
  name: string,
  config: ToolConfig<StandardSchema | undefined, StandardSchema | undefined>,
  handler: ToolHandler<never>,
  defaults: ToolDefaults,
): RegisteredTaskTool {
  const { task = {}, ...rest } = config;
  const what = `registerTool ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
  if (typeof handler !== 'function') throw new TypeError(`${what}: the handler must be a function`);
  checkSchema(rest.inputSchema, 'input', `${what}: inputSchema`);
  checkSchema(rest.outputSchema, 'output', `${what}: outputSchema`);
  checkOptions(task, what);
  const { inputSchema, outputSchema } = rest;
  return {
    name,
    support: task.support ?? 'optional',
    config: rest as RegisteredTaskTool['config'],
    prepare: task.prepare as RegisteredTaskTool['prepare'],
    dedupe: task.dedupe as RegisteredTaskTool['dedupe'],
    fallback: task.fallback ?? {},
    joinRunning: task.joinRunning ?? true,
    definition: {
      method: 'tools/call',
      name,
      ...(task.version !== undefined && { version: task.version }),
      ttlMs: task.ttlMs === undefined ? defaults.ttlMs : task.ttlMs,
      keepResultMs: task.keepResultMs ?? defaults.keepResultMs,
      ...(task.timeoutMs !== undefined && { timeoutMs: task.timeoutMs }),
      ...(task.pollIntervalMs !== undefined && { pollIntervalMs: task.pollIntervalMs }),
      maxAttempts: task.maxAttempts ?? defaults.maxAttempts,
      ...(task.concurrency !== undefined && { concurrency: task.concurrency }),
      onWorkerLost: workerLostRule(task.onWorkerLost, rest.annotations ?? {}),
      ...retryOf(task.retry),
      strict: task.strict ?? false,
      run: async (input, context) => {
        const args = await parseArguments(inputSchema, input, name);
        const result = await handler(args as never, context);
        return checkResult(outputSchema, result, name);
      },
    },
  };
}

function retryOf(retry: ToolTaskOptions['retry']): { retry?: RetryPolicy } {
  if (retry === undefined || retry === false) return {};
  const { backoffMs = DEFAULTS.retryBackoffMs, maxBackoffMs = DEFAULTS.retryMaxBackoffMs } =
    retry === true ? {} : retry;
  return { retry: { backoffMs, maxBackoffMs: Math.max(backoffMs, maxBackoffMs) } };
}

function checkSchema(schema: unknown, side: 'input' | 'output', what: string): void {
  if (schema === undefined) return;
  if (!isStandardSchema(schema)) {
    throw new TypeError(
      `${what} must be a Standard Schema that yields JSON Schema, such as z.object({ … }) of Zod 4.2 or later`,
    );
  }
  let json: JsonObject;
  try {
    json = toJsonSchema(schema, side);
  } catch (error) {
    throw new TypeError(`${what} cannot be written as JSON Schema: ${(error as Error).message}`, { cause: error });
  }
  if (side === 'input' && json.type !== undefined && json.type !== 'object') {
    throw new TypeError(
      `${what} must describe an object, not ${JSON.stringify(json.type)}; wrap it in z.object({ … })`,
    );
  }
}

function checkOptions(task: ToolTaskOptions<never>, what: string): void {
  const oneOf = (field: 'support' | 'onWorkerLost', allowed: readonly string[]): void => {
    const value = task[field];
    if (value !== undefined && !allowed.includes(value)) {
      throw new TypeError(`${what}: task.${field} must be one of ${allowed.join(', ')}; got ${JSON.stringify(value)}`);
    }
  };
  oneOf('support', ['forbidden', 'optional', 'required']);
  oneOf('onWorkerLost', ['rerun', 'resume', 'fail']);
  const { backoffMs, maxBackoffMs } = typeof task.retry === 'object' ? task.retry : {};
  for (const [field, value] of Object.entries({ backoffMs, maxBackoffMs })) {
    if (value === undefined || (Number.isFinite(value) && value >= 0)) continue;
    throw new RangeError(`${what}: task.retry.${field} must be milliseconds of at least 0, got ${String(value)}`);
  }
  if (task.fallback !== undefined) checkFallback(task.fallback, `${what}: task.fallback`);
  for (const field of ['ttlMs', 'keepResultMs', 'timeoutMs', 'pollIntervalMs', 'maxAttempts', 'concurrency'] as const) {
    const value = task[field];
    if (value === undefined || (field === 'ttlMs' && value === null)) continue;
    if (!Number.isSafeInteger(value) || (value as number) < 1) {
      throw new RangeError(`${what}: task.${field} must be a whole number of at least 1, got ${JSON.stringify(value)}`);
    }
  }
}

/** @throws {TypeError} {RangeError} naming the option and what was expected. */
export function checkFallback({ mode, detachAfterMs, maxBlockMs }: FallbackOptions, where: string): void {
  if (mode !== undefined && !['detach', 'block', 'refuse'].includes(mode)) {
    throw new TypeError(`${where}.mode must be 'detach', 'block' or 'refuse', got ${String(mode)}`);
  }
  for (const [field, value] of Object.entries({ detachAfterMs, maxBlockMs })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue;
    throw new RangeError(`${where}.${field} must be a whole number of milliseconds of at least 0, got ${value}`);
  }
}

async function parseArguments(schema: StandardSchema | undefined, input: JsonValue, name: string): Promise<unknown> {
  if (schema === undefined) return input ?? {};
  const parsed = await schema['~standard'].validate(input ?? {});
  if (parsed.issues === undefined) return parsed.value;
  // They were valid when the task was created: the tool has changed since.
  throw rpcError(INVALID_PARAMS, `the arguments no longer fit tool ${name}: ${describeIssues(parsed.issues)}`);
}

async function checkResult(schema: StandardSchema | undefined, result: unknown, name: string): Promise<JsonObject> {
  if (!isJsonObject(result)) throw fault(name, 'returned no result object');
  const { structuredContent, isError } = result;
  if (isError !== undefined && typeof isError !== 'boolean')
    throw fault(name, 'returned an isError that is no boolean');
  if (schema !== undefined && isError !== true) {
    if (structuredContent === undefined) throw fault(name, 'has an outputSchema but returned no structuredContent');
    const parsed = await schema['~standard'].validate(structuredContent);
    if (parsed.issues !== undefined) {
      throw fault(name, `returned what its outputSchema refuses: ${describeIssues(parsed.issues)}`);
    }
  }
  if (result.content === undefined && structuredContent !== undefined) {
    return { ...result, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
  }
  if (!Array.isArray(result.content)) throw fault(name, 'returned a result without a content array');
  const problem = result.content.map(blockProblem).find((found) => found !== undefined);
  if (problem !== undefined) throw fault(name, `returned content that is none: ${problem}`);
  return result;
}

/** What a block of each type has to have, all of them strings; `resource` holds an object instead. */
const BLOCKS = new Map<unknown, readonly string[]>([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource_link', ['uri', 'name']],
  ['resource', []],
]);

function blockProblem(block: unknown): string | undefined {
  const members = isJsonObject(block) ? BLOCKS.get(block.type) : undefined;
  if (!isJsonObject(block) || members === undefined) return 'a block of no known type';
  const missing = members.find((member) => typeof block[member] !== 'string');
  if (missing !== undefined) return `a ${String(block.type)} block without ${missing}`;
  const { resource } = block;
  if (block.type !== 'resource') return undefined;
  const whole = isJsonObject(resource) && typeof resource.uri === 'string';
  return whole && (typeof resource.text === 'string' || typeof resource.blob === 'string')
    ? undefined
    : 'a resource block without uri and text or blob';
}

/** The tool's fault, not the caller's: an internal error whose data names the tool, which tells it from a mere throw. */
function fault(tool: string, problem: string): Error {
  return Object.assign(new Error(`tool ${tool} ${problem}`), { code: INTERNAL_ERROR, data: { tool } });
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
