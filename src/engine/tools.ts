import {
  describeIssues,
  isJsonObject,
  isStandardSchema,
  type JsonObject,
  type JsonValue,
  loggedAs,
  type OutputOf,
  type Principal,
  type StandardSchema,
  toJsonSchema,
} from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { Definition } from './definition.ts';
import { INTERNAL_ERROR } from './outcome.ts';
import {
  checkTaskOptions,
  definitionOptions,
  type FallbackOptions,
  type TaskDefaults,
  type TaskOptions,
} from './task-options.ts';

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
  /** Of the request's `_meta`: what is its sender's own. Nobody vouches for it. */
  meta: JsonObject;
  signal: AbortSignal;
}

/**
 * `respond` answers the call at once and creates no task; `problem` refuses its arguments, as the tool's schema would, in words that
 * name the field; otherwise the task is created, with `prepared` in it.
 */
export type Prepared =
  | { respond: object; problem?: undefined; prepared?: undefined }
  | { problem: string; respond?: undefined; prepared?: undefined }
  | { respond?: undefined; problem?: undefined; prepared?: JsonValue }
  | undefined;

export interface ToolTaskOptions<Args = unknown> extends TaskOptions {
  /**
   * Whether the tool runs as a task: whenever the caller can take one (`optional`), never (`forbidden`), or only so
   * (`required`: a caller without tasks is told what to enable). @default 'optional'
   */
  support?: 'forbidden' | 'optional' | 'required';
  /**
   * The idempotency key of a call that brings none: calls of one principal with the same key and arguments are one
   * task. Not asked for anonymous callers, who could otherwise find each other's tasks. @default none
   */
  dedupe?: (args: Args, principal: Principal) => string | undefined;
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

const INVALID_PARAMS = -32602;

/**
 * Checks a tool and makes it something the engine can run.
 * @throws {TypeError} naming the option and what was expected.
 */
export function defineTool(
  name: string,
  config: ToolConfig<StandardSchema | undefined, StandardSchema | undefined>,
  handler: ToolHandler<never>,
  defaults: TaskDefaults,
): RegisteredTaskTool {
  const { task = {}, ...rest } = config;
  const what = `registerTool ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
  if (typeof handler !== 'function') throw new TypeError(`${what}: the handler must be a function`);
  checkSchema(rest.inputSchema, 'input', `${what}: inputSchema`);
  checkSchema(rest.outputSchema, 'output', `${what}: outputSchema`);
  checkTaskOptions(task, what, ['forbidden', 'optional', 'required']);
  const { inputSchema, outputSchema } = rest;
  return toolOf(name, rest, task, {
    ...definitionOptions(task, defaults, rest.annotations ?? {}),
    run: async (input, context) => {
      const args = await parseArguments(inputSchema, input, `tool ${name}`);
      const result = await handler(args as never, context);
      return checkResult(outputSchema, result, name);
    },
  });
}

/** A tool whose options are checked, the author's types forgotten. @param work how it is done, as the engine is to do it */
export function toolOf(
  name: string,
  config: object,
  { support = 'optional', prepare, dedupe, fallback = {}, joinRunning = true }: ToolTaskOptions<never>,
  work: Omit<Definition, 'method' | 'name'>,
): RegisteredTaskTool {
  return {
    name,
    support,
    config: config as RegisteredTaskTool['config'],
    prepare: prepare as RegisteredTaskTool['prepare'],
    dedupe: dedupe as RegisteredTaskTool['dedupe'],
    fallback,
    joinRunning,
    definition: { method: 'tools/call', name, ...work },
  };
}

export function checkSchema(schema: unknown, side: 'input' | 'output', what: string): void {
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

export async function parseArguments(
  schema: StandardSchema | undefined,
  input: JsonValue,
  what: string,
): Promise<unknown> {
  if (schema === undefined) return input ?? {};
  const parsed = await schema['~standard'].validate(input ?? {});
  if (parsed.issues === undefined) return parsed.value;
  // They were valid when the task was created: the tool has changed since.
  throw rpcError(INVALID_PARAMS, `the arguments no longer fit ${what}: ${describeIssues(parsed.issues)}`);
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
      const problem = 'returned what its outputSchema refuses';
      throw fault(name, problem, describeIssues(parsed.issues));
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
function fault(tool: string, problem: string, details?: string): Error {
  const words = `tool ${tool} ${problem}`;
  const error = new Error(details === undefined ? words : `${words}: ${details}`);
  return loggedAs(Object.assign(error, { code: INTERNAL_ERROR, data: { tool } }), words);
}

function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}
