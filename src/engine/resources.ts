import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import type { TaskContext } from './context.ts';
import type { Definition } from './definition.ts';
import { INTERNAL_ERROR } from './outcome.ts';
import { READS_ONLY, type RequestTaskOptions } from './prompts.ts';
import { checkTaskOptions, definitionOptions, type TaskDefaults } from './task-options.ts';

/** What a resource is read as, as MCP has it. */
export interface ReadResult {
  contents: ({ uri: string; mimeType?: string; _meta?: Record<string, unknown> } & (
    | { text: string }
    | { blob: string }
  ))[];
  _meta?: Record<string, unknown>;
}

/** What `McpServer.registerResource` takes, plus `task`. */
export interface ResourceConfig {
  title?: string;
  description?: string;
  mimeType?: string;
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: 'light' | 'dark' }[];
  annotations?: { audience?: ('user' | 'assistant')[]; priority?: number; lastModified?: string };
  _meta?: Record<string, unknown>;
  task?: RequestTaskOptions;
}

/** What is to be read. */
export interface ResourceRequest {
  uri: string;
  /** What the URI has in the places that its template leaves open. */
  variables: Readonly<Record<string, string | string[]>>;
}

export type ReadHandler = (request: ResourceRequest, task: TaskContext) => ReadResult | Promise<ReadResult>;

/** A registered resource. */
export interface RegisteredTaskResource {
  name: string;
  /** A URI, or a template of RFC 6570 for many. */
  uri: string;
  support: 'forbidden' | 'optional';
  config: Omit<ResourceConfig, 'task'>;
  task: RequestTaskOptions;
  definition: Definition;
}

/**
 * Checks a resource and makes it something the engine can run.
 * @throws {TypeError} {RangeError} naming the option and what was expected.
 */
export function defineResource(
  name: string,
  uri: string,
  config: ResourceConfig,
  handler: ReadHandler,
  defaults: TaskDefaults,
): RegisteredTaskResource {
  const { task = {}, ...rest } = config;
  const what = `registerResource ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || name === '') throw new TypeError(`${what}: name must be a non-empty string`);
  if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:/i.test(uri)) {
    throw new TypeError(
      `${what}: uri must be a URI or a template of one, such as report://{year}; got ${JSON.stringify(uri)}`,
    );
  }
  if (typeof handler !== 'function') throw new TypeError(`${what}: the handler must be a function`);
  checkTaskOptions(task, what, ['forbidden', 'optional']);
  return {
    name,
    uri,
    support: task.support ?? 'optional',
    config: rest,
    task,
    definition: {
      method: 'resources/read',
      name,
      ...definitionOptions(task, defaults, READS_ONLY),
      run: async (input, context) => checkRead(await handler(requestOf(input), context), name),
    },
  };
}

function requestOf(input: JsonValue): ResourceRequest {
  const { uri = '', variables = {} } = isJsonObject(input) ? input : {};
  return { uri: String(uri), variables: variables as ResourceRequest['variables'] };
}

function checkRead(result: unknown, name: string): JsonObject {
  if (!isJsonObject(result)) throw fault(name, 'returned no result object');
  if (!Array.isArray(result.contents)) throw fault(name, 'returned a result without a contents array');
  for (const part of result.contents) {
    const whole = isJsonObject(part) && typeof part.uri === 'string';
    if (!whole || (typeof part.text !== 'string' && typeof part.blob !== 'string')) {
      throw fault(name, 'returned contents without uri and text or blob');
    }
  }
  return result;
}

function fault(resource: string, problem: string): Error {
  return Object.assign(new Error(`resource ${resource} ${problem}`), { code: INTERNAL_ERROR, data: { resource } });
}
