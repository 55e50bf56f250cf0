import { isDeepStrictEqual } from 'node:util';
import { mcpTool } from '../adapters/index.ts';
import type { ConnectedServer } from '../client/index.ts';
import {
  InputNotSupportedError,
  isJsonObject,
  type JobContext,
  type JobEnd,
  type JsonObject,
  type StandardSchema,
} from '../core/index.ts';
import type { TaskContext, Tasks } from '../engine/index.ts';
import { pagesNeeded } from '../wire/relayed.ts';
import type { ToolPolicy } from './config/types.ts';

/** Arguments as they come: it is for others to say what is wrong with them. */
export const ANYTHING: StandardSchema<JsonObject, JsonObject> = {
  '~standard': {
    version: 1,
    vendor: 'longcall',
    validate: (value: unknown) => ({ value: value as JsonObject }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
};

export interface TaskTool {
  /** Its name among the tasks. */
  name: string;
  /** Its name on its upstream. */
  tool: string;
  policy: ToolPolicy;
  /** What people are told that it is, in questions and messages. */
  origin: string;
  server: (context: JobContext) => Promise<ConnectedServer>;
}

/**
 * An upstream of 2025-11-25 may refuse a call until a page was visited. Whoever can be sent there is, and the call made again.
 * @see 2025-11-25 elicitation, "URL Elicitation Required Error"
 */
async function pagesVisited(end: JobEnd, task: TaskContext, origin: string): Promise<boolean> {
  const pages = end.state === 'done' && 'error' in end ? pagesNeeded(end.error) : [];
  if (pages.length === 0) return false;
  for (const { message, url } of pages) {
    try {
      if ((await task.ask('page', { message: `${origin} asks: ${message}`, url })).action !== 'accept') return false;
    } catch (error) {
      // Nobody can be sent there, or nobody should: the error says what is missing.
      if (error instanceof InputNotSupportedError || error instanceof TypeError) return false;
      throw error;
    }
  }
  return true;
}

/** What the caller said beside the arguments, kept with the task: it is passed on as it is where a call is passed through. */
function metaOf({ prepared }: JobContext): JsonObject | undefined {
  return isJsonObject(prepared) && isJsonObject(prepared.meta) ? prepared.meta : undefined;
}

/** Tools of upstreams that run as tasks, each a job whose work is a call of the upstream. */
export class TaskTools {
  readonly #tasks: Tasks;
  readonly #registered = new Map<string, ToolPolicy>();

  constructor(tasks: Tasks) {
    this.#tasks = tasks;
  }

  /** Registers a tool, or changes how it runs; does nothing where it is as it was. */
  put({ name, tool, policy, origin, server }: TaskTool): void {
    const before = this.#registered.get(name);
    if (before !== undefined && isDeepStrictEqual(before, policy)) return;
    if (before !== undefined) this.#tasks.removeTool(name);
    const { ttlMs, keepResultMs, timeoutMs, concurrency, onLost, maxAttempts, support, fallback } = policy;
    this.#tasks.registerJob(
      name,
      {
        inputSchema: ANYTHING,
        task: {
          origin,
          again: (end, task) => pagesVisited(end, task, origin),
          prepare: (_args, { meta }) => (Object.keys(meta).length > 0 ? { prepared: { meta } } : undefined),
          ...(ttlMs !== undefined && { ttlMs }),
          ...(keepResultMs !== undefined && { keepResultMs }),
          ...(timeoutMs !== undefined && { timeoutMs }),
          ...(concurrency !== undefined && { concurrency }),
          ...(onLost !== undefined && { onLost }),
          ...(maxAttempts !== undefined && { maxAttempts }),
          ...(support !== undefined && { support }),
          ...(fallback !== undefined && { fallback }),
        },
      },
      mcpTool({ server, tool, meta: metaOf, ...(typeof ttlMs === 'number' && { ttlMs }) }),
    );
    this.#registered.set(name, policy);
  }

  /** Names of tools that have open tasks, whether they are registered or not. */
  async open(): Promise<Set<string>> {
    const names = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await this.#tasks.inspect.list({
        status: ['working', 'input_required'],
        limit: 1_000,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { name } of page.tasks) names.add(name);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return names;
  }
}
