import { type JsonObject, type Principal, TaskError, TaskNotFoundError } from '../core/index.ts';
import { COMPANIONS } from '../wire/companions.ts';
import { failure } from './answers.ts';
import { callerOf } from './caller.ts';
import { answerTask, cancelTask, deleteTask, listTasks, readLogs, unknownTask } from './companion-calls.ts';
import { resultOf, statusOf, waitFor } from './companion-waits.ts';
import type { Host } from './host.ts';
import { standardSchema } from './json-schema.ts';
import type { ServingParts } from './parts.ts';
import { answerTo } from './rpc-error.ts';
import type { CallToolResult, ServerContext } from './sdk.ts';
import { MAX_LINES } from './shown-log.ts';

/** One call of a companion tool. */
export interface CompanionCall {
  args: JsonObject;
  principal: Principal;
  ctx: ServerContext;
  parts: ServingParts;
}

interface Companion {
  name: string;
  description: string;
  properties: JsonObject;
  required: string[];
  annotations: { readOnlyHint?: boolean; idempotentHint?: boolean; destructiveHint?: boolean };
  call(call: CompanionCall): Promise<CallToolResult>;
}

const taskId = { type: 'string', description: 'The task id, exactly as an earlier answer gave it' };
const looks = { readOnlyHint: true, idempotentHint: true };

const companions: readonly Companion[] = [
  {
    name: COMPANIONS.wait,
    description:
      'Waits for a task that is still running and returns its result. Call it again while the task runs; each call waits.',
    properties: {
      taskId,
      maxWaitSec: { type: 'number', description: 'How long to wait: 20 by default, 600 at most' },
    },
    required: ['taskId'],
    annotations: looks,
    call: waitFor,
  },
  {
    name: COMPANIONS.status,
    description: 'Tells how far a task is. Asked again before there is news, it waits for some.',
    properties: { taskId },
    required: ['taskId'],
    annotations: looks,
    call: statusOf,
  },
  {
    name: COMPANIONS.result,
    description: 'Returns the result of a finished task, as often as wanted.',
    properties: { taskId },
    required: ['taskId'],
    annotations: looks,
    call: resultOf,
  },
  {
    name: COMPANIONS.logs,
    description: 'Reads what a task has logged, also while it runs. Without cursor: the end of the log.',
    properties: {
      taskId,
      cursor: { type: 'integer', minimum: 0, description: 'Where an earlier answer said to go on' },
      tail: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: 'Only the last so many lines' },
      stream: { type: 'string', enum: ['stdout', 'stderr'], description: 'Only what a command wrote there' },
    },
    required: ['taskId'],
    annotations: looks,
    call: readLogs,
  },
  {
    name: COMPANIONS.answer,
    description: 'Answers a question that a task waits for. Ask the person first; never make an answer up.',
    properties: {
      taskId,
      key: { type: 'string', description: 'The question, as the task named it' },
      action: { type: 'string', enum: ['accept', 'decline', 'cancel'] },
      content: { type: 'object', description: 'With "accept": the answer, by the schema of the question' },
    },
    required: ['taskId', 'key', 'action'],
    annotations: { idempotentHint: true, destructiveHint: false },
    call: answerTask,
  },
  {
    name: COMPANIONS.cancel,
    description: 'Stops a running task for good.',
    properties: { taskId },
    required: ['taskId'],
    annotations: { idempotentHint: true, destructiveHint: true },
    call: cancelTask,
  },
  {
    name: COMPANIONS.list,
    description: 'Lists your tasks, newest first.',
    properties: { cursor: { type: 'string', description: 'Where an earlier answer said to go on' } },
    required: [],
    annotations: looks,
    call: listTasks,
  },
  {
    name: COMPANIONS.delete,
    description: 'Deletes a task with its result and log; one that runs is stopped first.',
    properties: { taskId },
    required: ['taskId'],
    annotations: { idempotentHint: true, destructiveHint: true },
    call: deleteTask,
  },
];

const schemas = new Map(
  companions.map(({ name, properties, required }) => [name, standardSchema({ type: 'object', properties, required })]),
);

/**
 * Tools for clients that know no tasks: to wait for, look at, answer and end what they started. They accept only ids that
 * are the caller's; tools of the server's own keep their names.
 * @returns the names of those that are there now
 */
export function registerCompanions(host: Host, parts: ServingParts): Set<string> {
  const taken = new Set(parts.tasks.tools.map(({ name }) => name));
  const registered = new Set<string>();
  for (const { name, description, annotations, call } of companions) {
    if (taken.has(name)) continue;
    const tool = { description, annotations, inputSchema: schemas.get(name) };
    try {
      host.registerTool(name, tool, (args, ctx) => serve(call, args as JsonObject, ctx, parts));
      registered.add(name);
    } catch (error) {
      parts.tasks.logger.debug({ name, error }, 'a tool for clients without tasks gives way to one of the server');
    }
  }
  return registered;
}

async function serve(
  call: Companion['call'],
  args: JsonObject,
  ctx: ServerContext,
  parts: ServingParts,
): Promise<CallToolResult> {
  const { tasks, peer, principalOf } = parts;
  try {
    const { principal } = callerOf(ctx, peer, principalOf);
    try {
      return await call({ args, principal, ctx, parts });
    } catch (error) {
      if (!(error instanceof TaskNotFoundError)) throw error;
      return await unknownTask(String(args.taskId), principal, parts);
    }
  } catch (error) {
    if (ctx.mcpReq.signal.aborted) throw error;
    if (error instanceof TaskError) return failure(answerTo(error, 'a task tool', tasks).message);
    throw error;
  }
}
