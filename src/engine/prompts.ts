import { isJsonObject, type JsonObject, type StandardSchema } from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { Definition } from './definition.ts';
import { INTERNAL_ERROR } from './outcome.ts';
import { checkTaskOptions, definitionOptions, type TaskDefaults, type TaskOptions } from './task-options.ts';
import { type ContentBlock, checkSchema, parseArguments } from './tools.ts';

/** What a prompt is answered with, as MCP has it. */
export interface PromptResult {
  description?: string;
  messages: { role: 'user' | 'assistant'; content: ContentBlock }[];
  _meta?: Record<string, unknown>;
}

/** What `McpServer.registerPrompt` takes, plus `task`. */
export interface PromptConfig<Args extends StandardSchema | undefined> {
  title?: string;
  description?: string;
  /** Strings, as far as MCP knows; a schema may make something else of them. */
  argsSchema?: Args;
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: 'light' | 'dark' }[];
  _meta?: Record<string, unknown>;
  task?: RequestTaskOptions;
}

/** How a request that is no call of a tool runs as a task. */
export interface RequestTaskOptions extends TaskOptions {
  /**
   * `optional`: as a task, which a client that knows no tasks of this kind waits for; `forbidden`: within the request.
   * @default 'optional'
   */
  support?: 'forbidden' | 'optional';
}

export type PromptHandler<Args> = (args: Args, task: TaskContext) => PromptResult | Promise<PromptResult>;

/** A registered prompt, the author's types forgotten. */
export interface RegisteredTaskPrompt {
  name: string;
  support: 'forbidden' | 'optional';
  config: Omit<PromptConfig<StandardSchema>, 'task'>;
  task: RequestTaskOptions;
  definition: Definition;
}

/** To make a prompt is no change in the world. */
export const READS_ONLY = { readOnlyHint: true, idempotentHint: true } as const;

/**
 * Checks a prompt and makes it something the engine can run.
 * @throws {TypeError} {RangeError} naming the option and what was expected.
 */
export function definePrompt(
  name: string,
  config: PromptConfig<StandardSchema | undefined>,
  handler: PromptHandler<never>,
  defaults: TaskDefaults,
): RegisteredTaskPrompt {
  const { task = {}, ...rest } = config;
  const what = `registerPrompt ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
  if (typeof handler !== 'function') throw new TypeError(`${what}: the handler must be a function`);
  checkSchema(rest.argsSchema, 'input', `${what}: argsSchema`);
  checkTaskOptions(task, what, ['forbidden', 'optional']);
  const { argsSchema } = rest;
  return {
    name,
    support: task.support ?? 'optional',
    config: rest as RegisteredTaskPrompt['config'],
    task,
    definition: {
      method: 'prompts/get',
      name,
      ...definitionOptions(task, defaults, READS_ONLY),
      run: async (input, context) => {
        const args = await parseArguments(argsSchema, input, `prompt ${name}`);
        return checkPrompt(await handler(args as never, context), name);
      },
    },
  };
}

function checkPrompt(result: unknown, name: string): JsonObject {
  if (!isJsonObject(result)) throw fault(name, 'returned no result object');
  if (!Array.isArray(result.messages)) throw fault(name, 'returned a result without a messages array');
  for (const message of result.messages) {
    const whole = isJsonObject(message) && (message.role === 'user' || message.role === 'assistant');
    if (!whole || !isJsonObject(message.content) || typeof message.content.type !== 'string') {
      throw fault(name, "returned a message without a role of 'user' or 'assistant' and a content block");
    }
  }
  return result;
}

function fault(prompt: string, problem: string): Error {
  return Object.assign(new Error(`prompt ${prompt} ${problem}`), { code: INTERNAL_ERROR, data: { prompt } });
}
